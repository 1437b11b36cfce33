"""Differences between runs that met the same stream; others are never subtracted."""

from collections.abc import Sequence
from dataclasses import dataclass

from gotta.report.statistics import WIDE, Estimate, estimate
from gotta.report.stored_run import Run, samples_per_step


@dataclass(frozen=True)
class Difference:
    """Ours less the baseline, domain by domain on the same streams. `refused` says what was not paired, and why."""

    estimate: Estimate | None
    seeds: tuple[int, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def verdict(self) -> int | None:
        """1 if ours is significantly above, -1 if below, 0 if neither; None where there is no interval to judge by."""
        return None if self.estimate is None else self.estimate.verdict

    @property
    def tied(self) -> bool:
        """Is it not significant, though a difference that matters would be?"""
        half = None if self.estimate is None else self.estimate.half
        return half is not None and half <= WIDE and not self.verdict


def difference(ours: Sequence[Run], baseline: Sequence[Run]) -> Difference:
    """The paired difference of accuracy over the seeds that both have."""
    table, seeds, refused = pair_by_seed(ours, baseline)
    return Difference(estimate(table) if table else None, tuple(seeds), tuple(refused))


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
        elif copied := [old for old in seeds if all(_repeats(side[seed], side[old]) for side in (mine, theirs))]:
            told = f"the same samples in the same order as seed {copied[0]}, with the same results"
            refused.append(f"seed {seed}: {told}")
        else:
            rows.append(gaps)
            seeds.append(seed)
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return ([[row[name] for name in shared] for row in rows], seeds, refused) if shared else ([], [], refused)


def fair_difference(ours: Sequence[Run], baseline: Sequence[Run]) -> Difference:
    """The same, refused where the two take steps of different size: that alone can move accuracy by ten points."""
    mine, theirs = samples_per_step(ours), samples_per_step(baseline)
    if mine == theirs:
        return difference(ours, baseline)
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
    contents = {run.summary.data_sha256 for run in (a, b)} - {None}  # data of one name may have been two
    return same and a.spec.data == b.spec.data and len(contents) < 2


def _repeats(a: Run, b: Run) -> bool:
    """Is this the run of another seed once more, as where classes are sorted and nothing is drawn?"""
    return same_stream(a, b) and a.scores() == b.scores()


def _first_by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    return {run.seed: run for run in sorted(runs, key=lambda run: run.id, reverse=True)}
