"""First in, first out."""

from gotta.memory.policy import Candidate, Decision, Policy, Reason, Rng, Table, register


@register("fifo")
class FIFO(Policy):
    """Keep the most recent samples: when the memory is full the oldest row leaves."""

    def place(self, table: Table, new: Candidate, rng: Rng) -> Decision:
        if not table.full:
            return Decision(table.free(), Reason.ROOM)
        return Decision(int(table.order[0]), Reason.REPLACED_OLDEST)
