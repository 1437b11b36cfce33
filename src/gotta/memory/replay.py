"""A recorded stream, offered to another memory."""

from dataclasses import dataclass
from time import perf_counter
from typing import Any

from gotta.errors import GottaError
from gotta.memory.journal import OFFER, READ, Journal
from gotta.memory.memory import Memory


@dataclass(frozen=True)
class Replay:
    """A memory that saw the recorded stream; its samples `x` are the ids of the stream."""

    memory: Memory
    seconds: float  # spent in observe
    exact: bool  # the model was frozen, so another memory would have seen the same predictions


def replay(
    journal: Journal,
    policy: Any,
    /,
    *,
    capacity: int | None = None,
    seed: int = 0,
    **arguments: Any,
) -> Replay:
    """Offer the recorded stream to another memory, in the same batches and with the same readings; no model is needed.

    Recorded refreshes are not repeated: they belong to rows that this memory may not hold.
    """
    memory = Memory(policy, capacity or journal.capacity, journal.num_classes, seed, **arguments)
    if "descriptor" in memory.policy.keeps and journal.batches and "descriptor" not in journal.batches[0]:
        raise GottaError(f"{memory.policy!r} decides by descriptors of pixels. This journal has none: record it again.")
    batches = iter(journal.batches)
    seconds = 0.0
    for kind, _ in journal.events:
        if kind == OFFER:
            batch = next(batches)
            columns = (batch.get(name) for name in ("label", "uncertainty", "embedding", "descriptor"))
            start = perf_counter()
            memory.observe(batch["id"], *columns)
            seconds += perf_counter() - start
        elif kind == READ:
            memory.batch()
    return Replay(memory, seconds, journal.frozen and not journal.refreshes)
