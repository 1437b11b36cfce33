"""Ours beside the paper as a matrix of memories by methods, with the doubtful cells of the paper flagged."""

from collections.abc import Sequence
from dataclasses import dataclass

from gotta.experiment.sweep.store import Run
from gotta.report.paper.agreement import Agreement
from gotta.report.paper.numbers import Inconsistency, inconsistencies
from gotta.report.paper.side_by_side import Pair, agreements, beside, differences


@dataclass(frozen=True)
class Beside:
    """`pairs[memory][method]`; `flags` are the paper's inconsistencies that touch a cell here, numbered from 1."""

    methods: tuple[str, ...]
    memories: tuple[str, ...]
    pairs: dict[str, dict[str, Pair]]
    taus: dict[str, Agreement]
    differs: tuple[str, ...]
    flags: tuple[Inconsistency, ...]

    def notes(self, pair: Pair) -> list[int]:
        """The numbers of the flags of a cell."""
        return [k for k, flag in enumerate(self.flags, 1) if pair.published.place in flag.places]


def beside_matrix(runs: Sequence[Run]) -> Beside | None:
    """None where the paper has no number of this setting."""
    pairs = beside(runs)
    if not pairs:
        return None
    places = {pair.published.place for pair in pairs}
    by_memory: dict[str, dict[str, Pair]] = {}
    for pair in pairs:
        by_memory.setdefault(pair.memory, {})[pair.method] = pair
    return Beside(
        tuple(dict.fromkeys(pair.method for pair in pairs)),
        tuple(by_memory),
        by_memory,
        agreements(pairs),
        tuple(differences(runs, pairs)),
        tuple(flag for flag in inconsistencies() if places & set(flag.places)),
    )
