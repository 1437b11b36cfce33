"""Schedules: which domains are visited, one after the other or together, in which sequence.

A schedule turns the names of the domains into pools, and may ask for fields of `StreamSpec` by name. The images of one
pool are ordered together, and the pools follow one another; so `mixed` is a single pool and everything else is one pool
per visit.
"""

import re
from collections.abc import Sequence

from gotta.errors import GottaError, unknown
from gotta.registry import Functions
from gotta.seeds import generator
from gotta.streams.order import Rng, dirichlet
from gotta.types import CORRUPTIONS, IntArray, domain_name, read_pair

Pool = tuple[str, ...]
SCHEDULES: Functions[list[Pool]] = Functions("schedule", "gotta.streams", "names")

STANDARD_ORDER = CORRUPTIONS

# The ten numbered orders that RoTTA and CoTTA share, as positions in STANDARD_ORDER.
_NUMBERED = (
    (10, 13, 0, 5, 6, 4, 2, 14, 3, 12, 1, 8, 7, 9, 11),
    (14, 1, 6, 8, 11, 9, 3, 12, 0, 10, 4, 2, 13, 7, 5),
    (11, 3, 0, 1, 7, 8, 4, 6, 12, 14, 13, 10, 2, 5, 9),
    (1, 9, 4, 13, 7, 12, 10, 2, 3, 8, 11, 0, 5, 14, 6),
    (13, 4, 6, 7, 9, 2, 10, 5, 8, 14, 0, 1, 11, 3, 12),
    (5, 7, 9, 1, 3, 11, 6, 10, 8, 12, 4, 0, 13, 14, 2),
    (8, 2, 14, 11, 6, 4, 13, 7, 3, 5, 10, 12, 1, 9, 0),
    (3, 5, 6, 1, 0, 4, 14, 9, 11, 13, 8, 7, 10, 12, 2),
    (4, 6, 2, 9, 7, 14, 0, 8, 1, 10, 11, 5, 13, 3, 12),
    (11, 0, 3, 6, 8, 4, 14, 9, 13, 12, 1, 2, 7, 5, 10),
)
ROTTA_ORDERS = tuple(tuple(STANDARD_ORDER[i] for i in order) for order in _NUMBERED)
ROTTA_ORDER = ROTTA_ORDERS[5]

DOMAIN_ORDERS: dict[str, tuple[str, ...]] = {
    "standard": STANDARD_ORDER,
    "rotta": ROTTA_ORDER,
    **{f"rotta-{k}": order for k, order in enumerate(ROTTA_ORDERS)},
}
AS_STORED = "dataset"  # the domain order that takes every domain of the data set, in its own sequence


def name_list(names: str | Sequence[str]) -> tuple[str, ...]:
    """A comma list or a sequence of names, as a tuple."""
    parts = names.split(",") if isinstance(names, str) else names
    return tuple(part.strip() for part in parts if part.strip())


def domain_order(order: str | Sequence[str]) -> tuple[str, ...]:
    """The domains of a named order, or those of an explicit list (with a comma, or a sequence)."""
    if not isinstance(order, str) or "," in order:
        return name_list(order)
    if order not in DOMAIN_ORDERS:
        raise unknown("domain order", order, [*DOMAIN_ORDERS, AS_STORED])
    return DOMAIN_ORDERS[order]


def resolve(
    available: Sequence[str], order: str | Sequence[str], severity: int, domains: str | Sequence[str] | None = None
) -> tuple[str, ...]:
    """The full names of the domains to visit. `domains` stands over `order`; names that the data set does not have as
    they are get the severity appended."""
    if domains is None and order == AS_STORED:
        return tuple(available)
    names = domain_order(order) if domains is None else name_list(domains)
    return tuple(name if name in available or _severity(name) else domain_name(name, severity) for name in names)


def require(domains: Sequence[str], available: Sequence[str]) -> None:
    """All of these domains, or one error that names the missing ones."""
    if missing := [name for name in dict.fromkeys(domains) if name not in available]:
        others = f" Also missing: {', '.join(missing[1:])}." if missing[1:] else ""
        way_out = f"Choose with domains=..., or domain_order='{AS_STORED}' for all there are."
        raise GottaError(f"{unknown('domain', missing[0], available)}{others} {way_out}")


@SCHEDULES.register("continual")
def continual(names: Sequence[str]) -> list[Pool]:
    """Each domain once, in order."""
    return [(name,) for name in names]


@SCHEDULES.register("one")
def one(names: Sequence[str]) -> list[Pool]:
    """A single domain."""
    if len(names) != 1:
        raise GottaError(f"schedule 'one' visits one domain, got {len(names)}. Name it, or use 'continual'.")
    return continual(names)


@SCHEDULES.register("mixed")
def mixed(names: Sequence[str]) -> list[Pool]:
    """All domains at once: every pair of domain and image, as one pool."""
    return [tuple(names)]


@SCHEDULES.register("gradual")
def gradual(names: Sequence[str]) -> list[Pool]:
    """Each corruption rises from severity 1 to the domain's own and falls back: 1-2-3-4-5-4-3-2-1.

    >>> [pool[0] for pool in gradual(["snow-3"])]
    ['snow-1', 'snow-2', 'snow-3', 'snow-2', 'snow-1']
    """
    pools: list[Pool] = []
    for name in names:
        if (peak := _severity(name)) is None:
            raise GottaError(f"schedule 'gradual' needs a severity, as in snow-5, got '{name}'. Use 'continual'.")
        ramp = [*range(1, peak + 1), *range(peak - 1, 0, -1)]
        pools += [(domain_name(name.rpartition("-")[0], severity),) for severity in ramp]
    return pools


@SCHEDULES.register("recurring")
def recurring(names: Sequence[str], repeats: int) -> list[Pool]:
    """The continual sequence, `repeats` times."""
    return continual(names) * repeats


def _severity(domain: str) -> int | None:
    found = re.fullmatch(r".+-([1-5])", domain)
    return int(found[1]) if found else None


USUAL_TRANSITIONS = 8


@SCHEDULES.register("walk")
def walk(names: Sequence[str], seed: int, transitions: int | None = None) -> list[Pool]:
    """From corruption to corruption, `transitions` (8) times, along the points that the data set has for each pair."""
    paths: dict[tuple[str, str], list[str]] = {}
    for name in names:
        if (pair := read_pair(name)) is None:
            raise GottaError(f"schedule 'walk' needs domains of two corruptions, got '{name}'. Use data set 'ccc'.")
        paths.setdefault((pair[0][0], pair[1][0]), []).append(name)
    rng = generator(seed, "walk")
    visits: list[Pool] = []
    at: str | None = None
    for _ in range(USUAL_TRANSITIONS if transitions is None else transitions):
        possible = [pair for pair in paths if at in (None, pair[0])]
        if not possible:
            raise GottaError(f"schedule 'walk' came to '{at}', and no path leaves it. Name paths from there as well.")
        chosen = possible[int(rng.integers(len(possible)))]
        visits += [(name,) for name in paths[chosen]]
        at = chosen[1]
    return visits


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
