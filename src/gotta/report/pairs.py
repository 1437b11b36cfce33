"""Differences between runs that met the same stream; others are never subtracted."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gotta.experiment.sweep.store import Run
from gotta.report.statistics import LEVEL, Estimate, estimate


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
        return self.judged and not self.distinguishable


def difference(ours: Sequence[Run], baseline: Sequence[Run], level: float = LEVEL) -> Difference:
    """The paired difference of accuracy over the seeds that both have."""
    mine, theirs = _first_by_seed(ours), _first_by_seed(baseline)
    rows, seeds, refused = [], [], []
    for seed in sorted(mine.keys() | theirs.keys()):
        gaps = paired(mine.get(seed), theirs.get(seed))
        if isinstance(gaps, str):
            refused.append(f"seed {seed}: {gaps}")
        else:
            rows.append(gaps)
            seeds.append(seed)
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    if not shared:
        return Difference(None, (), tuple(refused))
    table = np.array([[row[name] for name in shared] for row in rows])
    return Difference(estimate(table, level), tuple(seeds), tuple(refused))


def paired(ours: Run | None, theirs: Run | None) -> dict[str, float] | str:
    """The difference in each domain, or why the two cannot be subtracted."""
    if ours is None or theirs is None:
        return "only one of the two was run"
    if not same_stream(ours, theirs):
        return "the streams differ"
    mine, base = scores(ours), scores(theirs)
    if not mine or mine.keys() != base.keys():
        return "the domains differ"
    return {name: mine[name] - base[name] for name in mine}


def same_stream(a: Run, b: Run) -> bool:
    """Did both see the same samples in the same order? How they were cut into batches may differ.

    Stores written before the order had a hash of its own are told by the hash with the cuts, or else by their specs.
    """
    first, second = a.summary.get("stream", {}), b.summary.get("stream", {})
    if "order_hash" in first and "order_hash" in second:
        return bool(first["order_hash"] == second["order_hash"]) and a.spec.get("data") == b.spec.get("data")
    if "hash" in first and first.get("hash") == second.get("hash"):
        return a.spec.get("data") == b.spec.get("data")
    return all(a.spec.get(part) == b.spec.get(part) for part in ("data", "stream", "seed")) and _sizes(a) == _sizes(b)


def scores(run: Run, metric: str = "accuracy") -> dict[str, float]:
    """The metric in each domain; the second visit of `snow-5` is `snow-5 (2)`."""
    found: dict[str, float] = {}
    count: dict[str, int] = defaultdict(int)
    for domain in run.summary.get("online", {}).get("domains", []):
        name = str(domain.get("name"))
        count[name] += 1
        value = domain.get(metric)
        if isinstance(value, int | float):
            found[name if count[name] == 1 else f"{name} ({count[name]})"] = float(value)
    return found


def score_table(
    runs: Sequence[Run], metric: str = "accuracy"
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """`[seed, domain]` over the domains that all runs have; None if there are none."""
    rows = [scores(run, metric) for run in _first_by_seed(runs).values()]
    shared = [name for name in rows[0] if all(name in row for row in rows)] if rows else []
    return np.array([[row[name] for name in shared] for row in rows]) if shared else None


def _first_by_seed(runs: Sequence[Run]) -> dict[int, Run]:
    found: dict[int, Run] = {}
    for run in sorted(runs, key=lambda run: run.id):
        found.setdefault(run.spec.get("seed", 0), run)
    return dict(sorted(found.items()))


def _sizes(run: Run) -> list[tuple[str, object]]:
    return [(str(d.get("name")), d.get("samples")) for d in run.summary.get("online", {}).get("domains", [])]
