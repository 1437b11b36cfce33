"""Orders: labels -> the positions of those labels in the order in which they arrive.

A registered order is called with the arguments its signature names: `labels`, `rng`, `num_classes`, `domain` (of each
label its position in a pool of several domains), and any field of `StreamSpec`. The published orders draw from a
`numpy.random.RandomState` exactly as their authors' code does. How it is seeded is our own (`gotta.seeds`): the stream
of seed 0 is not the one that RoTTA's `np.random.seed(0)` gives.
"""

import warnings
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.errors import GottaError
from gotta.limits import Count, Positive, Within, require
from gotta.registry import Functions
from gotta.types import Floats, IntArray

Rng = np.random.RandomState | np.random.Generator
ORDERS: Functions[IntArray] = Functions("order", "gotta.streams", "labels")

Underflow = Literal["published", "one_slot"]
FromOne = Annotated[float, Within(1)]
MOST_SLOTS = 100
USUAL_RUN = 10.0
MOST_ATTEMPTS = 1000


@ORDERS.register("iid")
def iid(labels: ArrayLike, rng: Rng) -> IntArray:
    """A uniformly random order."""
    return _int64(rng.permutation(len(_array(labels))))


@ORDERS.register("sorted")
def by_class(labels: ArrayLike) -> IntArray:
    """Class by class, ascending; the data set's order inside a class. Nothing is drawn.

    >>> by_class([1, 0, 1, 0]).tolist()
    [1, 3, 0, 2]
    """
    return _int64(np.argsort(_array(labels), kind="stable"))


@ORDERS.register("lame")
def lame(labels: ArrayLike, rng: Rng) -> IntArray:
    """Class by class as in LAME: shuffled, then grouped by class in order of first appearance."""
    label = _array(labels)
    shuffled = iid(label, rng)
    _, first, group = np.unique(label[shuffled], return_index=True, return_inverse=True)
    return shuffled[np.argsort(first[group], kind="stable")]


@ORDERS.register("pairs")
def pairs(labels: ArrayLike, rng: Rng) -> IntArray:
    """Two classes at a time, alternating one by one until both are used up; who is paired with whom is drawn.

    The classes are skewed as in long runs, yet no sample tells the class of the next.

    >>> pairs([0, 0, 1, 1], np.random.RandomState(0)).tolist() in ([0, 2, 1, 3], [2, 0, 3, 1])
    True
    """
    label = _array(labels)
    place = np.empty(len(label), np.int64)  # of each item inside its class
    rank = np.empty(len(label), np.int64)  # of its class
    for at, y in enumerate(rng.permutation(np.unique(label))):
        rows = np.flatnonzero(label == y)
        place[rows], rank[rows] = np.arange(len(rows)), at
    return _int64(np.lexsort((rank, place, rank // 2)))


@ORDERS.register("dirichlet")
def dirichlet(
    labels: ArrayLike,
    gamma: float,
    rng: Rng,
    num_classes: int | None = None,
    slots: int | None = None,
    underflow: str = "published",
) -> IntArray:
    """RoTTA's order of one domain: each class is cut into consecutive pieces, one per slot, by a Dirichlet draw.

    The slots follow one another; inside a slot the class pieces come in random order, and nothing is shuffled inside a
    piece. Unlike the published code this keeps every item when the labels have gaps. For very small gamma a draw can
    underflow to NaN: `published` then puts the class into the last slot and warns, `one_slot` into a random one.
    """
    require("underflow", underflow, Underflow)
    members, shares = _draw_shares(labels, gamma, rng, num_classes, slots)
    classes, slots = shares.shape
    rank = np.empty((slots, classes), np.int64)
    lost = _repair(shares, members, None if underflow == "published" else rng)
    for slot in range(slots):
        rank[slot, rng.permutation(classes)] = np.arange(classes)
    if lost and underflow == "published":
        _warn_underflow(lost, "gamma", gamma, slots)
    piece = [_pieces(share, len(rows)) for share, rows in zip(shares, members, strict=True)]
    return _arrange(members, piece, rank)


@ORDERS.register("runs")
def runs(
    labels: ArrayLike,
    gamma: float,
    rng: Rng,
    run_length: float | None = None,
    num_classes: int | None = None,
    slots: int | None = None,
) -> IntArray:
    """Runs of one class of `run_length` samples (10) on average: a class goes on with probability 1 - 1 / run_length.

    Which classes the runs of a slot are of is a Dirichlet draw per class. With a large gamma every slot has all
    classes, and with run_length 1 the order is then i.i.d., which `dirichlet` never is. Inside a class items are
    shuffled; neighbouring runs of one class look like a longer one.
    """
    length = USUAL_RUN if run_length is None else run_length
    require("run_length", length, FromOne)
    members, shares = _draw_shares(labels, gamma, rng, num_classes, slots)
    _repair(shares, members, rng)
    pieces: list[IntArray] = []
    slot: list[int] = []
    for share, rows in zip(shares, members, strict=True):
        rng.shuffle(rows)
        ends = np.flatnonzero(rng.uniform(size=max(len(rows) - 1, 0)) < 1 / length) + 1
        found = np.split(rows, ends)
        pieces += found
        slot += rng.choice(len(share), len(found), p=share).tolist()
    mixed = rng.permutation(len(pieces))
    return np.concatenate([pieces[at] for at in mixed[np.argsort(np.array(slot)[mixed], kind="stable")]])


@ORDERS.register("note")
def note(
    labels: ArrayLike,
    beta: float,
    rng: Rng,
    num_classes: int | None = None,
    nsample: int | None = None,
    update_every: int | None = None,
    min_chunk: int = 10,
) -> IntArray:
    """NOTE's temporally correlated order: shuffled classes cut by Dirichlet draws into as many chunks as classes.

    Chunks that hold their share receive nothing more. Only the first `nsample` items stay, then a whole number of
    `update_every`.
    """
    label, classes = check_labels(labels, num_classes)
    members, chunk, _ = note_chunks(label, beta, rng, classes, min_chunk)
    rank = np.empty((classes, classes), np.int64)
    for k in range(classes):
        visit = list(range(classes))
        rng.shuffle(visit)
        rank[k, visit] = np.arange(classes)
    return _trim(_arrange(members, chunk, rank), nsample, update_every)


@ORDERS.register("note_iid")
def note_iid(labels: ArrayLike, rng: Rng, nsample: int | None = None, update_every: int | None = None) -> IntArray:
    """NOTE's random order: the items leave the list one by one, each from a random position."""
    left = list(range(len(_array(labels))))
    order = [left.pop(_below(rng, len(left))) for _ in range(len(left))]
    return _trim(_int64(np.array(order, np.int64)), nsample, update_every)


def note_chunks(
    label: IntArray, beta: float, rng: Rng, classes: int, min_chunk: int = 10
) -> tuple[list[IntArray], list[IntArray], int]:
    """For each class its shuffled items and the chunk of each of them; and how many rounds of draws were needed."""
    require("beta", beta, Positive)
    few = min_chunk * classes > len(label)
    for attempt in range(1, 1 if few else MOST_ATTEMPTS + 1):
        members, chunk, lost = _note_round(label, beta, rng, classes)
        if np.bincount(np.concatenate(chunk), minlength=classes).min() >= min_chunk:
            if lost:
                _warn_underflow(lost, "beta", beta, classes)
            return members, chunk, attempt
    why = f"there are {len(label)}" if few else f"beta={beta:g} gave none in {MOST_ATTEMPTS} attempts"
    told = f"order 'note' needs {classes} chunks of at least min_chunk={min_chunk} images, and {why}"
    raise GottaError(f"{told}. Use more images, a larger beta, a smaller min_chunk, or order 'dirichlet'.")


def _note_round(label: IntArray, beta: float, rng: Rng, classes: int) -> tuple[list[IntArray], list[IntArray], int]:
    held = np.zeros(classes, np.int64)
    members, chunk, lost = _members(label, classes), [], 0
    for rows in members:
        rng.shuffle(rows)
        share = rng.dirichlet(np.full(classes, beta)) * (held < len(label) / classes)
        with np.errstate(invalid="ignore"):
            shares = (share / share.sum())[None]
        lost += _repair(shares, [rows])
        chunk.append(_pieces(shares[0], len(rows)))
        held += np.bincount(chunk[-1], minlength=classes)
    return members, chunk, lost


def class_runs(labels_in_order: ArrayLike) -> IntArray:
    """The lengths of the runs of one class.

    >>> class_runs([3, 3, 3, 1, 3]).tolist()
    [3, 1, 1]
    """
    label = _array(labels_in_order)
    starts = np.flatnonzero(np.diff(label, prepend=label[:1] - 1))
    return _int64(np.diff(starts, append=len(label)))


def shuffled_run(labels: ArrayLike) -> float:
    """How long the runs of one class are on average if these labels come in random order.

    >>> round(shuffled_run([0, 1] * 500), 2)
    2.0
    """
    count = np.bincount(_array(labels)).astype(np.float64)
    total = count.sum()
    changes = (total - 1) - (count * (count - 1)).sum() / total
    return float(total / (1 + changes))


def _draw_shares(
    labels: ArrayLike, gamma: float, rng: Rng, num_classes: int | None, slots: int | None
) -> tuple[list[IntArray], Floats]:
    """For each class its items, and what share of them each slot is to have [C, S]."""
    label, classes = check_labels(labels, num_classes)
    slots = min(classes, MOST_SLOTS) if slots is None else slots
    require("slots", slots, Count)
    require("gamma", gamma, Positive)
    return _members(label, classes), rng.dirichlet(np.full(slots, gamma), classes)


def _pieces(share: Floats, n: int) -> IntArray:
    """The piece of each of n consecutive items, cut at floor(cumulative share * n)."""
    cuts = (np.cumsum(share)[:-1] * n).astype(np.int64)
    return _int64(np.searchsorted(cuts, np.arange(n), side="right"))


def _arrange(members: Sequence[IntArray], piece: Sequence[IntArray], rank: IntArray) -> IntArray:
    """Concatenate piece 0 of all classes, then piece 1, ..., the classes of piece s in the order of rank[s]."""
    item, slot = np.concatenate(members), np.concatenate(piece)
    label = np.repeat(np.arange(len(members)), [len(rows) for rows in members])
    return item[np.lexsort((rank[slot, label], slot))]  # lexsort is stable: the order inside a piece stays


def _repair(shares: Floats, members: Sequence[IntArray], rng: Rng | None = None) -> int:
    """Give each class whose draw underflowed to 0/0 to one slot whole, and count those that have items.

    Without a generator it is the last slot, which is where the published code puts it without noticing.
    """
    lost = np.flatnonzero(~np.isfinite(shares).all(1)).tolist()
    for y in lost:
        shares[y] = 0.0
        shares[y, -1 if rng is None else _below(rng, shares.shape[1])] = 1.0
    return sum(len(members[y]) > 0 for y in lost)


def _warn_underflow(lost: int, argument: str, value: float, slots: int) -> None:
    warnings.warn(
        f"{lost} {'class' if lost == 1 else 'classes'} of one domain had a Dirichlet draw that underflowed "
        f"({argument}={value:g}, {slots} slots): placed whole in the last slot, as in the published code.",
        UserWarning,
        stacklevel=3,
    )


def _trim(order: IntArray, nsample: int | None, update_every: int | None) -> IntArray:
    order = order[:nsample]
    return order if update_every is None else order[: len(order) - len(order) % update_every]


def _members(label: IntArray, classes: int) -> list[IntArray]:
    """For each class the positions of its items, ascending."""
    by_label = np.argsort(label, kind="stable").astype(np.int64)
    # Copies, because NOTE shuffles them in place.
    return [rows.copy() for rows in np.split(by_label, np.cumsum(np.bincount(label, minlength=classes))[:-1])]


def check_labels(labels: ArrayLike, num_classes: int | None) -> tuple[IntArray, int]:
    """The labels as an array, and the number of classes, which they must fit."""
    label = _array(labels)
    if not len(label):
        raise GottaError("there are no labels to order. Expected at least one image.")
    low, high = int(label.min()), int(label.max())
    classes = high + 1 if num_classes is None else num_classes
    if low < 0 or high >= classes:
        raise GottaError(f"labels go from {low} to {high}. Expected 0 to {classes - 1}, for num_classes={classes}.")
    return label, classes


def _array(values: ArrayLike) -> IntArray:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise GottaError(f"expected a list of integers, got {array.dtype} of shape {array.shape}.")
    return _int64(array)


def _int64(values: NDArray[np.integer]) -> IntArray:
    return values.astype(np.int64, copy=False)


def _below(rng: Rng, n: int) -> int:
    return int(rng.randint(n)) if isinstance(rng, np.random.RandomState) else int(rng.integers(n))
