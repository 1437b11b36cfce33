"""Domains in blocks: a Dirichlet draw cuts each into pieces, and pieces of all domains follow one another (CDC)."""

from collections.abc import Sequence

from gotta.errors import GottaError
from gotta.streams.order import Rng, dirichlet
from gotta.streams.schedule import SCHEDULES, Pool, continual
from gotta.types import IntArray


class Blocks(list[Pool]):
    """Pools of which each is ordered as a whole and shown in pieces."""

    def __init__(self, pools: Sequence[Pool], delta: float, slots: int) -> None:
        super().__init__(pools)
        self.delta, self.slots = delta, slots

    def arrange(self, pool: IntArray, rng: Rng) -> IntArray:
        """The positions in which samples arrive, from the pool of each; what is of one pool keeps its sequence."""
        return dirichlet(pool, self.delta, rng, len(self), self.slots, underflow="one_slot")


@SCHEDULES.register("cdc")
def cdc(names: Sequence[str], delta: float = 1.0, domain_slots: int = 3) -> list[Pool]:
    """Continual dynamic change (DPCore): each domain is cut into `domain_slots` consecutive pieces by a Dirichlet draw.

    The first pieces of all domains come in random order, then the second ones, ... Every image of a domain comes once.
    A large delta gives pieces of one size, a small one leaves most domains whole.
    """
    if len(names) < 2:
        raise GottaError(f"schedule 'cdc' changes between domains, got {len(names)}. Name more, or use 'one'.")
    return Blocks(continual(names), delta, domain_slots)
