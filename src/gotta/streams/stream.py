"""Stream: a data set in the order of a spec, cut into batches. Everything but the pixels is known beforehand."""

import json
import logging
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import sha256
from inspect import signature
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gotta.errors import GottaError
from gotta.seeds import legacy_generator
from gotta.streams.foreign import mix_foreign
from gotta.streams.imbalance import thin_classes
from gotta.streams.items import Items, items_of
from gotta.streams.order import ORDERS, Rng, check_labels, class_runs, shuffled_run
from gotta.streams.redrawn import Redrawn, read_together
from gotta.streams.schedule import SCHEDULES, Blocks, Pool, require, resolve
from gotta.streams.stream_spec import StreamSpec, call, check, notes
from gotta.types import FOREIGN, Dataset, Images, IntArray, Step, Truth, torch_images

LOG = logging.getLogger(__name__)
Request = tuple[list[str], IntArray]  # for each sample its domain and its row


class Stream:
    """A deterministic function of the data set's labels, the spec and its seed; iterating it again gives the same.

    `index[T]`, `label[T]` and `domain[T]` describe each sample, `domains` names the visits that `domain` counts
    (a domain visited twice is there twice, one that comes in pieces once), and `batches` are the slices of T that the
    steps hold. A data set that has `clips` gives a stream of clips: these are ordered, and the frames of each follow
    one another.

    `dataset` is one of `gotta.data.dataset` or of the caller's, `spec` says in which order its images come.

    >>> import gotta
    >>> spec = gotta.streams.StreamSpec(per_class=2, domains=("fog",), batch_size=8)
    >>> stream = gotta.streams.Stream(gotta.data.dataset("cifar10-mini"), spec)
    >>> len(stream), stream.domains
    (3, ('fog-5',))
    """

    def __init__(self, dataset: Dataset, spec: StreamSpec | None = None) -> None:
        spec = StreamSpec() if spec is None else spec
        if mistakes := check(spec):
            raise GottaError("\n".join(mistakes))
        pools = _pools(dataset, spec)
        index, domain, starts = _samples(pools, dataset, spec)
        dataset = dataset if spec.redraws == 1 else Redrawn(dataset, spec.redraws)
        self.dataset, self.num_classes = dataset, dataset.num_classes
        self.spec, self.batch_size = spec, spec.batch_size
        borders = [*(starts if spec.reset_at_domain else [0]), len(index)]
        kept = _find_kept(borders, spec)
        shown_before = np.concatenate([[0], np.cumsum(kept)])
        self.domains: tuple[str, ...] = tuple(name for pool in pools for name in pool)
        if hasattr(dataset, "require"):
            dataset.require(self.domains)
        self.index: IntArray = index[kept]
        self.num_samples = len(self.index)
        self.domain: IntArray = domain[kept]
        self.label: IntArray = dataset.labels[self.index].astype(np.int64)
        self.starts: tuple[int, ...] = tuple(shown_before[starts].tolist())  # the first sample of each pool or piece
        self.batches: list[slice] = _cut(shown_before[borders].tolist(), spec.batch_size)
        if not self.batches:
            raise GottaError("the stream is empty: the data set and the spec leave no batch. Use more images.")
        for column in (self.index, self.domain, self.label):
            column.setflags(write=False)
        LOG.info("a stream of %d samples in %d batches, %s", len(self.index), len(self), spec.order)

    def __len__(self) -> int:
        """The number of batches."""
        return len(self.batches)

    def __iter__(self) -> Iterator[Step]:
        return self.iter_from(0)

    def iter_from(self, first: int) -> Iterator[Step]:
        """The steps from number `first` on, to go on in the middle."""
        if not 0 <= first <= len(self):
            raise GottaError(f"step {first} does not exist: the stream has steps 0..{len(self) - 1}.")
        return (self.step(k) for k in range(first, len(self)))

    def step(self, k: int, pixels: Images | None = None) -> Step:
        """Step number k, with its pixels; who has read them already passes them on."""
        at = self.batches[k]
        truth = Truth(label=self.label[at].copy(), domain=self.domain[at].copy(), index=self.index[at].copy())
        return Step(torch_images(shown(self.dataset, self.request(at)) if pixels is None else pixels), truth)

    def request(self, at: slice | IntArray) -> Request:
        """Of the samples at these places in the stream, the domain and the row of each."""
        return [self.domains[position] for position in self.domain[at]], self.index[at]

    def starts_domain(self, k: int) -> bool:
        """Whether a visit begins with the first sample of step k; for `mixed` only step 0 does."""
        return self.batches[k].start in self.starts

    @cached_property
    def hash(self) -> str:
        """A hash of everything the stream shows: the same in every process and on every machine."""
        cuts = np.array([batch.start for batch in self.batches])
        return self._digest([*self.domains, self.batch_size], cuts)

    @cached_property
    def order_hash(self) -> str:
        """A hash of the samples in their order, however they are cut: equal where two runs can be compared in pairs."""
        return self._digest(self.domains)

    def _digest(self, told: Sequence[object], *columns: IntArray) -> str:
        digest = sha256()
        for column in (self.label, self.index, self.domain, *columns):
            digest.update(f"{len(column)}:".encode() + column.astype("<i8").tobytes())
        digest.update(json.dumps(told).encode())
        return digest.hexdigest()

    @cached_property
    def clip_starts(self) -> IntArray:
        """The first sample of each clip shown; of images, every sample is its own."""
        clips = getattr(self.dataset, "clips", None)
        if clips is None:
            return np.arange(self.num_samples)
        # A new clip begins where the clip or the visit changes, and where a clip is shown again from its first frame.
        clip = np.asarray(clips)[self.index]
        new = (np.diff(clip) != 0) | (np.diff(self.domain) != 0) | (np.diff(self.index) <= 0)
        return np.concatenate([[0], np.flatnonzero(new) + 1]).astype(np.int64)

    def told_starts(self, k: int) -> NDArray[np.bool_] | None:
        """Which samples of step k begin a clip, where a model may know; else None."""
        if self.spec.boundaries != "told":
            return None
        at = self.batches[k]
        return np.isin(np.arange(at.start, at.stop), self.clip_starts)

    @cached_property
    def classes_per_batch(self) -> IntArray:
        """The number of distinct classes in each batch; foreign samples have none."""
        return np.array([len(np.unique(known_labels(self.label[batch]))) for batch in self.batches], np.int64)

    @property
    def notes(self) -> list[str]:
        """What somebody who chose these settings may not know, with what it comes to here."""
        known = known_labels(self.label)
        mean, random = float(class_runs(known).mean()), shuffled_run(known)
        here = f"Here class runs are {mean:.1f} samples long on average, in random order {random:.1f}."
        found = [f"{note} {here}" for note in notes(self.spec)]
        seen = len(np.unique(known))
        if self.spec.order == "markov" and seen < self.num_classes:
            told = (
                f"The chain ended after {self.num_samples} samples, when a class in a domain had shown all its images"
            )
            found.append(
                f"{told}, and {seen} of {self.num_classes} classes have come. Give it more images (per_class)."
            )
        return [*found, *self.repeating]

    @property
    def repeating(self) -> list[str]:
        """A note on the domains whose images are the same at every redraw."""
        repeats = self.dataset.repeats(self.domains) if isinstance(self.dataset, Redrawn) else []
        told = f"redraws={self.spec.redraws} repeats the same pixels in {', '.join(repeats)}: nothing is drawn there."
        return [told] if repeats else []

    def summary(self) -> dict[str, int | float | str]:
        """The stream in a few numbers."""
        known = known_labels(self.label)
        runs = class_runs(known)
        return {
            "samples": self.num_samples,
            "batches": len(self),
            "domains": len(self.domains),
            "classes": len(np.unique(known)),
            "class_runs": len(runs),
            "class_run_mean": float(runs.mean()),
            "class_run_median": float(np.median(runs)),
            "class_run_max": int(runs.max()),
            "classes_per_batch": float(self.classes_per_batch.mean()),
            "hash": self.hash,
            "order_hash": self.order_hash,
        }


def known_labels(label: IntArray) -> IntArray:
    """The labels of the samples that belong to a class."""
    return np.asarray(label[label != FOREIGN])


def shown(dataset: Dataset, request: Request) -> Images:
    """The pixels of a step, domain by domain."""
    return read_together(*request, dataset.images)


def choose_items(items: Items, num_classes: int, spec: StreamSpec, rng: Rng) -> IntArray:
    """The images or clips of the data set that the stream shows of a domain, ascending; `rng` draws them."""
    labels, _ = check_labels(items.labels, num_classes)
    chosen = np.arange(len(labels)) if spec.classes is None else np.flatnonzero(np.isin(labels, spec.classes))
    absent = sorted(set(spec.classes or ()) - set(labels.tolist()))
    if absent:
        raise GottaError(f"classes={spec.classes}: the data set has no image of class {absent[0]}.")
    if spec.clips is not None and spec.clips > len(chosen):
        raise GottaError(f"clips={spec.clips}, but there are only {len(chosen)}. Use clips <= {len(chosen)}.")
    if spec.choose != "first" and (spec.per_class or spec.limit or spec.clips):
        chosen = rng.permutation(chosen)
    if spec.per_class is not None:
        chosen = _first_of_each_class(chosen, items, spec.per_class)
    return np.sort(chosen[: spec.limit or spec.clips])


def _first_of_each_class(chosen: IntArray, items: Items, count: int) -> IntArray:
    taken = []
    for y in np.unique(items.labels[chosen]):
        of_class = chosen[items.labels[chosen] == y]
        if len(of_class) < count:
            raise GottaError(f"per_class={count}, but class {y} has only {len(of_class)}. Use fewer.")
        taken.append(of_class[:count])
    return np.concatenate(taken) if taken else chosen


def _pools(dataset: Dataset, spec: StreamSpec) -> list[Pool]:
    domains = resolve(dataset.domains, spec.domain_order, spec.severity, spec.domains)
    if not domains:
        raise GottaError("the data set has no domains, so there is nothing to visit.")
    pools = call(SCHEDULES.get(spec.schedule), spec, names=domains)
    require([name for pool in pools for name in pool], dataset.domains)
    return pools


def _samples(pools: list[Pool], dataset: Dataset, spec: StreamSpec) -> tuple[IntArray, IntArray, list[int]]:
    """The row and the visit of each sample, and where each pool, or piece of one, starts."""
    rng = legacy_generator(spec.seed, "stream")
    items = items_of(dataset, spec)
    choices = legacy_generator(spec.seed, "stream-choice")
    arranged = []
    for number, pool in enumerate(pools):
        if spec.choose == "anew" or not number:
            chosen = choose_items(items, dataset.num_classes, spec, choices)
        arranged.append(_arrange_pool(pool, chosen, items, dataset.num_classes, spec, rng))
    visits_before = np.cumsum([0] + [len(pool) for pool in pools])
    item = np.concatenate([found for found, _ in arranged])
    domain = np.concatenate([within + before for (_, within), before in zip(arranged, visits_before, strict=False)])
    sizes = [len(found) for found, _ in arranged]
    first: IntArray = np.cumsum([0, *sizes[:-1]]).astype(np.int64)
    if isinstance(pools, Blocks):
        at = pools.arrange(np.repeat(np.arange(len(pools)), sizes), rng)
        item, domain = item[at], domain[at]
        first = np.flatnonzero(np.diff(domain, prepend=-1)).astype(np.int64)
    copy, item = np.divmod(item, len(items.labels))
    lengths = items.lengths[item]
    rows = items.rows_of(item) + np.repeat(copy, lengths) * len(dataset.labels)
    found = rows, np.repeat(domain, lengths), np.append(0, np.cumsum(lengths))[first].tolist()
    return mix_foreign(*found, dataset, spec) if spec.foreign else found


def _arrange_pool(
    pool: Pool, chosen: IntArray, items: Items, num_classes: int, spec: StreamSpec, rng: Rng
) -> tuple[IntArray, IntArray]:
    """The items of one pool in stream order, and for each the position of its domain inside the pool.

    Item `k * I + i` is item i of I, drawn for the k-th time.
    """
    order, shown = ORDERS.get(spec.order), [chosen for _ in pool]
    if spec.class_imbalance > 1 and "class_imbalance" not in signature(order).parameters:
        labels = items.labels[chosen]
        shown = [chosen[thin_classes(labels, spec.class_imbalance, rng, spec.head)] for _ in pool]
    item, domain = np.concatenate(shown), np.repeat(np.arange(len(pool)), [len(found) for found in shown])
    if len(pool) > 1:
        # Orders keep the given order inside a class, which would bring the domains of a pool one after the other.
        shuffled = rng.permutation(len(item))
        item, domain = item[shuffled], domain[shuffled]
    times = spec.duplicates * spec.redraws
    copy = np.tile(np.arange(times) % spec.redraws, len(item))
    item, domain = np.repeat(item, times), np.repeat(domain, times)
    at = call(order, spec, labels=items.labels[item], rng=rng, num_classes=num_classes, domain=domain)
    return (item + copy * len(items.labels))[at], domain[at]


def _cut(borders: list[int], batch_size: int) -> list[slice]:
    """Slices of at most batch_size that cover everything and cross no border."""
    return [
        slice(start, min(start + batch_size, end))
        for begin, end in pairwise(borders)
        for start in range(begin, end, batch_size)
    ]


def _find_kept(borders: list[int], spec: StreamSpec) -> NDArray[np.bool_]:
    """All samples, or with drop_single all but those that would be alone in the last batch before a border."""
    kept = np.ones(borders[-1], bool)
    for begin, end in pairwise(borders):
        if spec.drop_single and (end - begin) % spec.batch_size == 1:
            kept[end - 1] = False
    return kept
