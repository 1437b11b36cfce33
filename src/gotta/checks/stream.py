"""What any order or schedule of a stream must satisfy: `run("order", "my_module:my_order")` gives a report.

An order is a function of `labels` that gives the positions in which they arrive; a schedule is a function of `names`,
those of the domains, that gives the pools that are visited. Both may ask for fields of `StreamSpec`, and an order for
`rng` and `num_classes`.
"""

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from inspect import signature
from itertools import permutations
from typing import Annotated, Any, Literal

import numpy as np

from gotta.checks.suite import Refused, Report, Result, Suite, no_global_randomness, values_of
from gotta.errors import GottaError, check_known
from gotta.limits import Within
from gotta.registry import Functions
from gotta.seeds import legacy_generator
from gotta.streams import ORDERS, SCHEDULES, Stream, StreamSpec
from gotta.streams.stream_spec import call
from gotta.types import Images, IntArray, domain_name, pair_name

__all__ = ["check", "run"]

ELSEWHERE = "the same in another process"
STREAM = "makes a stream: every sample has its own label and domain, and the content hash is stable"
PATIENCE = 300.0  # seconds for another process to import torch
ASK = "import sys; from gotta.checks.stream import fingerprint; print(fingerprint(*sys.argv[1:]))"
NAMES = ("snow", "fog", "frost", "contrast", "pixelate", "glass_blur")


@dataclass(frozen=True)
class Case:
    """A data set and the domains to visit, as a few words and numbers."""

    count: Annotated[int, Within(1, 200)]
    domains: Annotated[int, Within(1, len(NAMES))]
    num_classes: Annotated[int, Within(1, 12)]
    shape: Literal["balanced", "one class", "gaps", "skewed", "sorted"]
    seed: Annotated[int, Within(0, 2**16)]

    @property
    def labels(self) -> IntArray:
        rng = np.random.default_rng([self.seed, len(self.shape)])
        label = np.arange(self.count, dtype=np.int64) % self.num_classes
        if self.shape == "one class":
            label[:] = self.num_classes - 1
        if self.shape == "gaps":
            label -= label % 2
        if self.shape == "skewed":
            label = (label * rng.random(self.count)).astype(np.int64)
        return np.sort(label) if self.shape == "sorted" else rng.permutation(label)

    @property
    def names(self) -> list[str]:
        """Corruptions with a severity; in some cases the ways from one to another, if there are two."""
        if self.seed % 4 == 2 and self.domains > 1:
            return ways(NAMES[: self.domains])
        return [domain_name(name, 3 + self.seed % 3) for name in NAMES[: self.domains]]


def ways(names: Sequence[str]) -> list[str]:
    """From each to each other in three steps."""
    return [pair_name(a, 1 - s, b, s) for a, b in permutations(names, 2) for s in (0, 0.5, 1)]


class Labelled:
    """A data set of one grey pixel per image, in any domain."""

    def __init__(self, case: Case) -> None:
        self.labels, self.num_classes = case.labels, case.num_classes
        self.domains = [domain_name(name, severity) for name in NAMES for severity in range(1, 6)] + ways(NAMES)

    def images(self, domain: str, indices: IntArray) -> Images:
        return np.full((len(indices), 1, 1, 3), self.domains.index(domain), np.uint8)


class Subject:
    """The order or schedule under test, with settings of the stream."""

    def __init__(
        self,
        kind: str,
        name: str | None,
        function: Callable[..., Any],
        settings: dict[str, Any],
        elsewhere: bool,
    ) -> None:
        self.kind, self.name, self.function, self.settings, self.elsewhere = kind, name, function, settings, elsewhere
        self.spec = StreamSpec.of(**settings)
        self.served, self.refusal = 0, ""

    def arrange(self, case: Case, labels: IntArray | None = None) -> Any:
        """The order of some labels; one that is not for them says so."""
        label = case.labels if labels is None else labels
        domain = np.arange(len(label)) % case.domains
        rng = legacy_generator(case.seed, "stream")
        return self._ask(labels=label, rng=rng, num_classes=case.num_classes, domain=domain)

    def visit(self, names: list[str]) -> Any:
        return self._ask(names=names)

    def stream(self, case: Case) -> Any:
        """A stream with it; what is not under test is as simple as can be."""
        pools = "mixed" if "domain" in signature(self.function).parameters else "continual"
        simple = {"order": "iid", "schedule": pools, "domains": tuple(case.names), "batch_size": 8}
        settings = {**simple, **self.settings, self.kind: self.name, "seed": case.seed}
        return self._refusable(lambda: Stream(Labelled(case), StreamSpec.of(**settings)))

    def _ask(self, **given: Any) -> Any:
        return self._refusable(lambda: call(self.function, self.spec, **given))

    def _refusable(self, ask: Callable[[], Any]) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what an order warns of is for its user
                answer = ask()
        except GottaError as error:
            self.refusal = str(error)
            raise Refused(self.refusal) from error
        self.served += 1
        return answer


class OfStreams(Suite[Subject, Case]):
    """A part that has a name is also tried elsewhere, in another process."""

    def __init__(self, known: Functions[Any]) -> None:
        super().__init__(known, Case, self.find_function, examples=40)

    def find_function(self, part: str | Callable[..., Any], settings: dict[str, Any]) -> Subject:
        elsewhere = settings.pop("elsewhere", True)
        name, function = (part, self.known.take(part)) if isinstance(part, str) else (None, part)
        if not callable(function):
            raise GottaError(f"{part!r} cannot be checked as {self.kind}. Expected {self.known.expected}.")
        return Subject(self.kind, name, function, settings, elsewhere)

    def try_all(self, subject: Subject, name: str, examples: int, seed: int) -> list[Result]:
        results = super().try_all(subject, name, examples, seed)
        if not subject.served and all(result.passed for result in results):
            raise GottaError(f"{self.kind} '{name}' refuses everything it is checked on: {subject.refusal}")
        if subject.elsewhere and subject.name is not None and results[0].passed:
            here, there = fingerprint_of(subject), fingerprint_elsewhere(subject)
            message = "" if here == there else f"another process gives other results, or ends: {there}"
            results.append(Result(ELSEWHERE, here == there, message))
        return results


ORDER, SCHEDULE = OfStreams(ORDERS), OfStreams(SCHEDULES)
SUITES = {"order": ORDER, "schedule": SCHEDULE}


def run(kind: str, part: str | Callable[..., Any], **options: Any) -> Report:
    """Check an order or a schedule: a registered name, `module:function`, or the function. A bad one does not raise.

    `options` are `examples`, `seed`, `settings`, and fields of `StreamSpec`. One that has a name is also tried in
    another process, unless `elsewhere=False`.
    """
    check_known("kind", kind, SUITES)
    return SUITES[kind].run(part, **options)


def check(kind: str, part: str | Callable[..., Any], **options: Any) -> None:
    """The same for use in a test: raises AssertionError with the report unless every property holds."""
    check_known("kind", kind, SUITES)
    SUITES[kind].check(part, **options)


def fingerprint(kind: str, name: str, settings: str) -> str:
    """What another process is asked for."""
    return fingerprint_of(SUITES[kind].find_function(name, json.loads(settings)))


@ORDER.named("gives positions of its labels: an array of whole numbers in range, each at most once (unless `again`)")
def gives_positions(subject: Subject, case: Case) -> None:
    order = np.asarray(subject.arrange(case))
    assert order.ndim == 1, f"an array of shape {order.shape}, expected [N]"
    assert order.dtype.kind in "iu", f"values of type {order.dtype}, expected whole numbers"
    assert len(order), "nothing is left of the labels"
    low, high = order.min(), order.max()
    assert 0 <= low <= high < case.count, f"positions from {low} to {high}, expected 0 to {case.count - 1}"
    assert subject.spec.again or len(np.unique(order)) == len(order), "a position comes twice"


@ORDER.named("same seed, same order; no global randomness; the labels stay as they were")
def order_is_repeatable(subject: Subject, case: Case) -> None:
    labels = case.labels
    with no_global_randomness():
        first, second = (np.asarray(subject.arrange(case, labels)) for _ in range(2))
    assert np.array_equal(first, second), "one seed gives two orders"
    assert np.array_equal(labels, case.labels), "the labels were changed"


@ORDER.named("takes labels as a list, and one image alone or none, or refuses them with GottaError")
def order_takes_any_labels(subject: Subject, case: Case) -> None:
    listed: Any = case.labels.tolist()
    assert np.array_equal(subject.arrange(case, listed), subject.arrange(case)), "a list of labels is ordered otherwise"
    for labels in (case.labels[:1], case.labels[:0]):
        with suppress(Refused):
            assert len(subject.arrange(case, labels)) <= len(labels), f"more positions than the {len(labels)} labels"


@SCHEDULE.named("gives a list of pools: each some of the given domains, or their other severities")
def gives_pools(subject: Subject, case: Case) -> None:
    pools = subject.visit(case.names)
    assert isinstance(pools, list), f"a {type(pools).__name__}, expected a list"
    assert pools, "no pool is left of the domains"
    known = Labelled(case).domains
    given = {name.rpartition("-")[0] for name in case.names}
    for pool in pools:
        assert isinstance(pool, tuple), f"a pool that is a {type(pool).__name__}, expected a tuple of names"
        assert pool, "a pool without a domain"
        stray = [name for name in pool if name not in known or name.rpartition("-")[0] not in given]
        assert not stray, f"domains that were not given: {stray}"


@SCHEDULE.named("the same again; no global randomness; the names stay as they were")
def schedule_is_repeatable(subject: Subject, case: Case) -> None:
    names = case.names
    with no_global_randomness():
        assert subject.visit(names) == subject.visit(names), "the same names give two schedules"
    assert names == case.names, "the list of names was changed"


@ORDER.named(STREAM)
@SCHEDULE.named(STREAM)
def makes_a_stream(subject: Subject, case: Case) -> None:
    if subject.name is None:
        return
    stream, again = subject.stream(case), subject.stream(case)
    assert stream.hash == again.hash, "the same stream has two content hashes"
    assert np.array_equal(stream.label, case.labels[stream.index]), "a sample has the label of another"
    for step in stream:
        shown = (step.x[:, 0, 0, 0] * 255).round().long().tolist()
        named = [stream.dataset.domains.index(stream.domains[at]) for at in step.truth.domain]
        assert shown == named, "a sample is shown in another domain than the stream says"


def fingerprint_of(subject: Subject) -> str:
    """What it gives on some fixed cases, as a hash."""
    digest = sha256()
    for number, shape in enumerate([*values_of(Case)["shape"]] * 2):
        case = Case(150, 1 if number % 2 else 4, 2 + number, shape, number)
        try:
            said = subject.arrange(case) if subject.kind == "order" else subject.visit(case.names)
            digest.update(repr(np.asarray(said).tolist()).encode())
        except Refused:
            digest.update(b"refused")
    return digest.hexdigest()


def fingerprint_elsewhere(subject: Subject) -> str:
    """The same from another process, in which sets and dictionaries of text have another order."""
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": other, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    settings = json.dumps(subject.settings, default=lambda value: value.item())  # NumPy's numbers
    command = [sys.executable, "-c", ASK, subject.kind, str(subject.name), settings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
