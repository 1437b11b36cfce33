"""Memory: the columns, the pixels and the generator of one policy. Decides on numbers, moves pixels once per batch."""

import logging
from collections import Counter
from collections.abc import Callable
from copy import copy, deepcopy
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from gotta import seeds
from gotta.errors import GottaError, one_error
from gotta.limits import Count, Within, require
from gotta.memory import intake, state
from gotta.memory.intake import Columns, Given
from gotta.memory.journal import Journal
from gotta.memory.policy import NO_DESCRIPTOR, NOTHING, REJECT, Candidate, Decision, Policy, Reason, make_policy
from gotta.memory.state import Rewind, all_or_nothing
from gotta.memory.storage import Storage, is_device
from gotta.memory.table import Floats, IntArray, Table
from gotta.types import MemoryBatch, Prediction

LOG = logging.getLogger(__name__)


class Memory:
    """At most `capacity` samples of a stream, chosen by a policy: a name with its arguments, or a finished policy.

    Without `num_classes` it takes no samples before `expect` says how many there are. Its random draws are those of
    `seed`, or of `rng` where several share one. Rows are predicted anew every `refresh_every` adaptations, samples are
    on the device or in the file that `storage` names, and with a `journal` each decision is kept with its reason.

    >>> memory = Memory("fifo", capacity=2, num_classes=10)
    >>> memory.observe(np.arange(3.0), label=[4, 1, 4]).tolist()
    [0, 1, 0]
    >>> memory.batch().x.tolist()
    [1.0, 2.0]
    """

    exchanged: ClassVar[tuple[str, ...]] = (  # attributes that are state
        "_table", "_storage", "_stats", "_fields", "_dtype", "num_classes", "knows_classes", "journal"
    )  # fmt: skip

    def __init__(
        self,
        policy: str | Policy | Any,
        capacity: int | None = None,
        num_classes: int | None = None,
        seed: int = 0,
        *,
        refresh_every: int | None = None,
        storage: str | Path | None = None,
        journal: bool = False,
        rng: np.random.Generator | None = None,
        **arguments: Any,
    ) -> None:
        self.policy = make_policy(policy, arguments)
        self.lasts = not self.policy.holds_batch  # whether rows outlive the batch they came in
        self._late = num_classes is None  # whether the first `expect` tells how many classes there are
        self.knows_classes = not self._late
        require("num_classes", num_classes, Count | None)
        self.num_classes = int(num_classes or 1)
        if capacity is None and self.lasts:
            name = type(self.policy).__name__.lower()
            raise GottaError(f"memory '{name}' needs to know how many samples it may hold. Say it: capacity=64.")
        require("capacity", capacity, Count | None)
        self.capacity = int(capacity or 1)
        every = self.policy.refresh_every if refresh_every is None else refresh_every
        require("refresh_every", every, Annotated[int, Within(0)] | None)
        self.refresh_every = every or None  # 0 means never
        self.journal = Journal(self.capacity, self.num_classes) if journal else None
        self._where = storage
        self._fields: dict[str, bool] | None = None  # which columns the batches have
        self._rng = seeds.generator(seed, "memory") if rng is None else rng
        self._rng_start = state.of_generator(self._rng)
        self._start()

    def expect(self, num_classes: int) -> None:
        """Predictions have this many classes. Raises if that is not what the memory was built for."""
        if self.knows_classes:
            if num_classes != self.num_classes:
                raise GottaError(f"predictions of {num_classes} classes do not fit a memory for {self.num_classes}.")
            return
        require("num_classes", num_classes, Count)
        self.num_classes, self.knows_classes = num_classes, True
        self.journal = None if self.journal is None else Journal(self.capacity, self.num_classes)
        self._start()

    def forget_classes(self) -> None:
        """Back to before the first `expect`, for a memory that was late to know."""
        self.knows_classes = not self._late
        self.reset()

    def begin_anew(self) -> "Memory":
        """Another memory like this one, with nothing in it: for another stream."""
        made = copy(self)
        made._rng = deepcopy(self._rng)
        made.forget_classes()
        return made

    @property
    def in_file(self) -> bool:
        """Whether its samples are in a file, which only one memory can use."""
        return not is_device(self._where)

    def __len__(self) -> int:
        return len(self._table)

    @property
    def stats(self) -> dict[str, int]:
        """How often each reason decided, and how many samples were stored, rejected and evicted."""
        return dict(self._stats)

    @property
    def notes(self) -> list[str]:
        """What a reader of this memory's results should know about its setting."""
        found = self.policy.notes(self.num_classes)
        if self.capacity >= self.num_classes or not self.lasts:
            return found
        share = self.capacity / self.num_classes
        return [f"capacity={self.capacity} gives each of {self.num_classes} classes {share:.3g} of a slot.", *found]

    @property
    def slots(self) -> IntArray:
        """The slots of the rows of `batch()`, in its order."""
        return self._table.rows() if self.lasts else self._table.order.copy()

    @property
    def ids(self) -> IntArray:
        """For each row of `batch()` how many samples had been offered before it."""
        return self._table.born[self.slots]

    def observe(
        self,
        x: Any,
        label: Given = None,
        uncertainty: Given = None,
        embedding: Given = None,
        descriptor: Given = None,
    ) -> IntArray:
        """Offer a batch, sample by sample. Returns the slot that each was placed in, -1 = not stored.

        Descriptors are measured on `x` where they are wanted and not given. A batch that cannot be used is one
        `GottaError`, and the memory stays as it was.
        """
        with one_error("this batch cannot be stored"), all_or_nothing(self):
            return self.take_in(x, label, uncertainty, embedding, descriptor)

    def take_in(
        self, x: Any, label: Given = None, uncertainty: Given = None, embedding: Given = None, descriptor: Given = None
    ) -> IntArray:
        """`observe` for a caller that undoes a failed step itself; `record` says what was there before."""
        if not self.knows_classes:
            raise GottaError("this memory does not know how many classes there are. Build it with num_classes=...")
        described = descriptor is None and (self.journal is not None or "descriptor" in self.policy.keeps)
        given = {"label": label, "uncertainty": uncertainty, "embedding": embedding, "descriptor": descriptor}
        x, columns = intake.receive(x, given, self.num_classes, described)
        self._begin(columns, len(x))
        self._storage.prepare(x)
        if self._fields is None:
            self._adopt(columns)
        slots = self._decide(columns, len(x))
        last = {slot: row for row, slot in enumerate(slots) if slot != REJECT}
        self._storage.write(
            torch.tensor(list(last), dtype=torch.long), torch.tensor(list(last.values()), dtype=torch.long), x
        )
        return np.array(slots, np.int64)

    def record(self) -> Rewind:
        """What takes back whatever happens from now on, until it is stopped."""
        return Rewind(self)

    def batch(self) -> MemoryBatch:
        """A copy of the stored rows, class ascending, then insertion. Counts as one reading of the memory."""
        if self.policy.vectors:
            self._table.vectors = {**self._table.vectors, **self.policy.after_read(self._table)}
        if self.journal is not None:
            self.journal.read()
        return self.peek()

    def peek(self) -> MemoryBatch:
        """The same rows as `batch()`, without counting as a reading: for metrics and for looking on."""
        table, rows = self._table, self.slots
        device = self._storage.device
        embedding, ages = table.embedding[rows].astype(self._dtype), table.age(rows) * self.lasts
        given = (table.label[rows], table.uncertainty[rows], embedding, ages)
        label, uncertainty, embeddings, age = (torch.from_numpy(column).to(device) for column in given)
        x = self._storage.read(torch.from_numpy(rows))
        return MemoryBatch(x, label, uncertainty, embeddings, age, self.capacity)

    def refresh(self, predict: Callable[[torch.Tensor], Prediction]) -> None:
        """Predict the stored rows anew. A row moves to the class it is now predicted as, even above its quota."""
        rows = self.slots
        if not len(rows):
            return
        x = self._storage.read(torch.from_numpy(rows))
        with one_error("the stored rows cannot be predicted anew"):
            new = predict(x)
            given = {"label": new.label, "uncertainty": new.uncertainty, "embedding": new.embedding}
            _, columns = intake.receive(x, given, self.num_classes)
        table = self._table
        embedding = table.embedding[rows]
        if embedding.shape[1]:
            embedding = columns["embedding"].astype(self._dtype)
            self._check_width(embedding)
        if LOG.isEnabledFor(logging.DEBUG):
            moved = int((columns["label"] != table.label[rows]).sum())
            LOG.debug("predicted %d rows anew: %d have another class", len(rows), moved)
        table.relabel(rows, columns["label"], columns["uncertainty"], embedding)
        if self.journal is not None:
            self.journal.note_refresh(table.born[rows], columns)

    def drop(self, rows: NDArray[np.bool_]) -> None:
        """Forget those rows of `batch()` that are marked."""
        for slot in self.slots[rows].tolist():
            self._table.remove(slot)

    def reset(self) -> None:
        """As new: no rows, clock 0, the generator where it started. A journal, if any, goes on empty."""
        state.set_generator(self._rng, self._rng_start)
        if self.journal is not None:
            self.journal = Journal(self.capacity, self.num_classes, self.journal.frozen)
        self._start()

    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere: tensors, and values that JSON can hold."""
        return state.of_memory(self)

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        """Go on from a saved state of a memory with the same policy, capacity and classes."""
        state.to_memory(self, saved)

    def _start(self, capacity: int | None = None) -> None:
        self._table = Table(capacity or self.capacity, self.num_classes, self.policy.vectors, keeps=self.policy.keeps)
        self._storage = Storage(self._table.capacity, self._where)
        self._stats = {"stored": 0, "rejected": 0, "evicted": 0}
        self._fields = None
        self._dtype = np.dtype(np.float32)  # of embeddings as they were given and are read

    def _begin(self, columns: Columns, size: int) -> None:
        """Raises unless the columns are there that the policy needs and that earlier batches had."""
        if not self.lasts:  # an empty table of the size of this batch; clock and counts go on
            clock, stats = self._table.clock, self._stats
            self._start(size)
            self._table.clock, self._stats = clock, stats
        given = list_given_fields(columns)
        for name in self.policy.needs:
            if not given[name]:
                raise GottaError(
                    f"{name} is missing: this policy decides by {', '.join(self.policy.needs)}. Pass {name}=..."
                )
        if self.policy.needs_probs and "embedding" in columns:
            check_probs(columns["embedding"])
        if self._fields is None:
            return
        if given != self._fields:
            names = ", ".join(name for name, there in self._fields.items() if there) or "no columns"
            raise GottaError(f"earlier batches came with {names}; give the same ones each time, or call reset().")
        if "embedding" in columns:
            self._check_width(columns["embedding"])

    def _check_width(self, embedding: NDArray[Any]) -> None:
        width, stored = embedding.shape[1], self._table.embedding.shape[1]
        if width != stored:
            raise GottaError(f"embeddings of {width} numbers do not fit stored ones of {stored}.")

    def _adopt(self, columns: Columns) -> None:
        """The first batch decides which columns there are."""
        self._fields = list_given_fields(columns)
        if "embedding" in columns:
            self._dtype = columns["embedding"].dtype
        widths = [columns[name].shape[1] if name in columns else 0 for name in ("embedding", "descriptor")]
        try:
            self._table.make_room(*widths)
        except MemoryError:
            rows, width = self._table.capacity, widths[0]
            raise GottaError(
                f"{rows:,} samples with embeddings of {width:,} numbers need {8e-9 * rows * width:,.0f} GB, which this "
                "machine cannot give. Use a smaller capacity, or embedding='features', which are shorter."
            ) from None

    def _decide(self, columns: Columns, size: int) -> list[int]:
        """Let the policy place each sample, and write its row. No pixel is touched."""
        table, place, rng = self._table, self.policy.place, self._rng
        labels = columns["label"].tolist() if "label" in columns else [-1] * size
        uncertainties = columns["uncertainty"].tolist() if "uncertainty" in columns else [np.nan] * size
        embeddings = self._round(columns.get("embedding", np.zeros((size, 0))))
        descriptors = columns.get("descriptor", [NO_DESCRIPTOR] * size)
        slots: list[int] = []
        left: list[int] = []
        reasons: list[str] = []
        first = table.clock
        for given in zip(labels, uncertainties, embeddings, descriptors, strict=True):
            new = Candidate(*given)
            table.offer(new.label, new.embedding)
            said = place(table, new, rng)
            decision = Decision(*said) if isinstance(said, tuple) else Decision(int(said), Reason.UNEXPLAINED)
            left.append(self._apply(decision, new))
            table.tick()
            slots.append(decision.slot)
            reasons.append(decision.reason)
        self._count(slots, left, reasons)
        if self.journal is not None:
            self.journal.note_offers(first, columns, slots, left, reasons)
        return slots

    def _apply(self, decision: Decision, new: Candidate) -> int:
        """Do what was decided for a sample: the birth of the row that left, -1 for none."""
        table, slot, clear = self._table, decision.slot, decision.clear
        if slot == REJECT and clear == NOTHING:
            return -1
        if slot == REJECT and 0 <= clear < table.capacity and table.filled[clear]:
            return table.remove(clear)
        if 0 <= slot < table.capacity and clear == NOTHING:
            if decision.join is not None:
                table.join(*decision.join)
            return table.put(slot, new.label, new.uncertainty, new.embedding, new.descriptor, decision.group)
        expected = f"a slot in 0..{table.capacity - 1}, or {REJECT}; only with {REJECT} may a filled one be cleared"
        raise GottaError(f"{self.policy!r} chose slot {slot} and to clear {clear}. Expected {expected}.")

    def _round(self, embedding: NDArray[Any]) -> Floats:
        """Embeddings as they will be stored, in float64 for exact arithmetic; read-only, and never the user's array."""
        with np.errstate(over="ignore"):
            values = embedding.astype(self._dtype).astype(np.float64)
        if not np.isfinite(values).all():
            raise GottaError(f"an embedding is too large for the {self._dtype} that earlier batches came in.")
        values.flags.writeable = False
        return values

    def _count(self, slots: list[int], left: list[int], reasons: list[str]) -> None:
        rejected, evicted = slots.count(REJECT), len(left) - left.count(-1)
        stored = len(slots) - rejected
        if evicted:
            LOG.debug("evicted %d rows: %d of %d samples stored, %d rows", evicted, stored, len(slots), len(self))
        stats = Counter(self._stats)
        stats.update(reasons)
        stats.update(stored=stored, rejected=rejected, evicted=evicted)
        self._stats = dict(stats)


def check_probs(embedding: NDArray[Any]) -> None:
    """Raises if these cannot be probabilities; logits and features hardly ever keep within 0 and 1."""
    if not -0.01 <= embedding.min() <= embedding.max() <= 1.01:
        got = f"{embedding.min():.3g} to {embedding.max():.3g}"
        raise GottaError(f"this policy reads confidence. Expected class probabilities as embedding (got {got}).")


def list_given_fields(columns: Columns) -> dict[str, bool]:
    return {name: name in columns for name in state.GIVEN}
