"""No memory: the current batch, whole."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register


@register("none")
class NoMemory(Policy):
    """Adapt on the batch just observed: every row of it, in stream order, at age 0, whatever the capacity."""

    holds_batch = True

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        return Decision(table.free(), Reason.ROOM)
