"""Differences between runs that met the same stream; others are never subtracted."""

from collections.abc import Sequence
from dataclasses import dataclass

from gotta.report.statistics import LEVEL, Estimate, estimate
from gotta.report.stored_run import Run, samples_per_step


@dataclass(frozen=True)
class Difference:
    """Ours less the baseline, domain by domain on the same streams. `refused` says what was not paired, and why."""

    estimate: Estimate | None
    seeds: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def judged(self) -> bool:
        """Is there an interval to judge by?"""
        return self.estimate is not None and self.estimate.half is not None

    @property
    def distinguishable(self) -> bool:
        return self.estimate is not None and self.estimate.distinguishable

    @property
    def tied(self) -> bool:
        """Is it not significant, though a difference that matters would be?"""
        return self.estimate is not None and self.estimate.is_narrow and not self.distinguishable

    @property
    def undecided(self) -> bool:
        """Is it not significant because the runs are too few?"""
        return self.estimate is not None and not self.estimate.is_narrow and not self.distinguishable


def difference(ours: Sequence[Run], baseline: Sequence[Run], level: float = LEVEL) -> Difference:
    """The paired difference of accuracy over the seeds that both have."""
    table, seeds, refused = pair_by_seed(ours, baseline)
    return Difference(estimate(table, level) if table else None, tuple(seeds), tuple(refused))


def pair_by_seed(ours: Sequence[Run], baseline: Sequence[Run]) -> tuple[list[list[float]], list[int], list[str]]:
    """Differences [seed, domain] over what both have, their seeds, and what was not paired."""
    mine, theirs = _first_by_seed(ours), _first_by_seed(baseline)
    rows: list[dict[str, float]] = []
    seeds: list[int] = []
    refused: list[str] = []
    for seed in sorted(mine.keys() | theirs.keys()):
        gaps = subtract(mine.get(seed), theirs.get(seed))
        if isinstance(gaps, str):
            refused.append(f"seed {seed}: {gaps}")
        elif copied := [
            old for old in seeds if _repeats(mine[seed], mine[old]) and _repeats(theirs[seed], theirs[old])
        ]:
            refused.append(
                f"seed {seed}: the same samples in the same order as seed {copied[0]}, with the same results"
            )
        else:
            rows.append(gaps)
            seeds.append(seed)
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return ([[row[name] for name in shared] for row in rows], seeds, refused) if shared else ([], [], refused)


def fair_difference(ours: Sequence[Run], baseline: Sequence[Run], level: float = LEVEL) -> Difference:
    """The same, refused where the two take steps of different size: that alone can move accuracy by ten points."""
    mine, theirs = samples_per_step(ours), samples_per_step(baseline)
    if mine == theirs:
        return difference(ours, baseline, level)
    shown = [" and ".join(map(str, sizes)) for sizes in (mine, theirs)]
    return Difference(None, (), (f"steps of {shown[0]} and {shown[1]} samples",))


def subtract(ours: Run | None, theirs: Run | None) -> dict[str, float] | str:
    """The difference in each domain, or why the two cannot be subtracted."""
    if ours is None or theirs is None:
        return "only one of the two was run"
    if not same_stream(ours, theirs):
        return "the streams differ"
    mine, base = ours.scores(), theirs.scores()
    if not mine or mine.keys() != base.keys():
        return "the domains differ"
    return {name: mine[name] - base[name] for name in mine}


def same_stream(a: Run, b: Run) -> bool:
    """Did both see the same samples in the same order? How they were cut into batches may differ."""
    order = a.summary.stream.order_hash
    same = order is not None and order == b.summary.stream.order_hash
    return same and a.spec.data == b.spec.data and not _other_content(a, b)


def _repeats(a: Run, b: Run) -> bool:
    """Is this the run of another seed once more, as where classes are sorted and nothing is drawn?"""
    return same_stream(a, b) and a.scores() == b.scores()


def _other_content(a: Run, b: Run) -> bool:
    """Is the data of that name known to have been another one?"""
    known = {run.summary.data_sha256 for run in (a, b)} - {None}
    return len(known) > 1


def _first_by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    found: dict[int, Run] = {}
    for run in sorted(runs, key=lambda run: run.id):
        found.setdefault(run.seed, run)
    return dict(sorted(found.items()))
