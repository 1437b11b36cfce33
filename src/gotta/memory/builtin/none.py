"""No memory: the current batch, whole."""

from dataclasses import dataclass

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, policies


@policies.register("none")
@dataclass(frozen=True)
class NoMemory(Policy):
    """Adapt on the batch just observed: every row of it, in stream order, at age 0, whatever the capacity."""

    holds_batch = True

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        return Decision(table.free(), Reason.ROOM)
