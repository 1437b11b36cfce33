"""How much faster `gotta bench --jobs 2` finishes the same cells than `--jobs 1`, on two otherwise idle cores.

    python benchmarks/sweep.py [--seeds 12] [--repeat 2]

Times the whole command, from typing it to its table, one and two workers in turn. Every sweep must give the same
numbers. A busy machine makes the figure meaningless, so the load before the start is printed with it.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from gotta.experiment.sweep.store import Store

TARGET = 1.7
RECIPE = """
title: Two workers and one
base: {{stream: {{per_class: 50, domains: [snow, fog, contrast]}}, memory: {{capacity: 32}}}}
seeds: {seeds}
cells: [{{method: [norm, tent], memory: [fps]}}]
"""


def timed(jobs: int, seeds: int) -> tuple[float, dict[str, float]]:
    """Seconds for all cells, and their accuracies."""
    with tempfile.TemporaryDirectory() as folder:
        recipe, out = Path(folder) / "recipe.yaml", Path(folder) / "out"
        recipe.write_text(RECIPE.format(seeds=list(range(seeds))))
        command = [sys.executable, "-m", "gotta.cli", "bench", recipe, "--jobs", str(jobs), "--out", out]
        start = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = perf_counter() - start
        return seconds, {run.id: run.summary["accuracy"] for run in Store(out).runs()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=12, help="Two cells each.")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    load = os.getloadavg()[0]
    print(f"{2 * given.seeds} cells, {os.cpu_count()} cores, load before the start {load:.2f}", flush=True)
    ratios, seen = [], []
    for _ in range(given.repeat):
        (one, first), (two, second) = timed(1, given.seeds), timed(2, given.seeds)
        seen += [first, second]
        ratios.append(one / two)
        print(f"1 worker {one:6.1f} s   2 workers {two:6.1f} s   ratio {ratios[-1]:.2f}", flush=True)
    assert all(accuracies == seen[0] for accuracies in seen), "the numbers depend on the workers"
    print(f"median ratio {statistics.median(ratios):.2f} (expected at least {TARGET} on idle cores)")


if __name__ == "__main__":
    main()
