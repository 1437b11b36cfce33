"""What `gotta bench` takes when nothing is left to run: plan, table, answer, and all files of the report.

    python benchmarks/report.py [--repeat 3]

The 36 cells of the recipe `mini` with made-up numbers and as many steps as real ones. Printed are the seconds of one
core besides the imports, and how often the runs are read and placed. The first time includes what is loaded late, such
as the letters of the drawings.
"""

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from time import process_time
from unittest.mock import patch

import scipy.special  # noqa: F401  (an import, not part of what is measured)

from gotta.cli.__main__ import main as gotta
from gotta.cli.commands import bench  # noqa: F401
from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import sweep  # noqa: F401
from gotta.experiment.sweep.store import Run, Store
from gotta.metrics.measures import MEASURES
from gotta.report import results, write  # noqa: F401
from gotta.types import CORRUPTIONS

TARGET = 2.0
STEPS, BATCH = 120, 32


def made_up(spec: RunSpec) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Steps and summary of a run that nobody has made."""
    rng = random.Random(spec.id)
    held = [{name: rng.random() for name in MEASURES} for _ in range(STEPS)]
    names = [f"{CORRUPTIONS[k * len(CORRUPTIONS) // STEPS]}-5" for k in range(STEPS)]
    steps: list[dict[str, object]] = [
        {"step": k, "samples": BATCH, "correct": rng.randrange(BATCH), "domains": {name: BATCH}, "memory": held[k]}
        for k, name in enumerate(names)
    ]
    scores = [rng.uniform(40, 70) for _ in CORRUPTIONS]
    domains = [
        {"name": f"{name}-5", "samples": 250, "accuracy": score, "error": 100 - score}
        for name, score in zip(CORRUPTIONS, scores, strict=True)
    ]
    mean = sum(scores) / len(scores)
    summary = {
        "accuracy": mean,
        "error": 100 - mean,
        "seconds": rng.uniform(1, 9),
        "online": {"domains": domains},
        "buffer": held[-1],
        "stream": {"order_hash": f"seed {spec.seed}"},
    }
    return steps, summary


def timed(root: Path) -> tuple[float, Counter[str]]:
    """Seconds of one core, and how often runs were read and placed."""
    calls: Counter[str] = Counter()
    place, load = results.place, Store._load

    def counting_place(runs):  # type: ignore[no-untyped-def]
        calls["placed"] += 1
        return place(runs)

    def counting_load(store: Store, id: str):  # type: ignore[no-untyped-def]
        calls["read"] += 1
        return load(store, id)

    command = ["gotta", "bench", "mini", "--out", str(root), "--jobs", "1"]
    with (
        patch.object(results, "place", counting_place),
        patch.object(Store, "_load", counting_load),
        patch.object(sys, "argv", command),
        redirect_stdout(StringIO()),
    ):
        start = process_time()
        with suppress(SystemExit):
            gotta()
        seconds = process_time() - start
    assert (root / "report.html").exists()
    return seconds, calls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Store(folder)
        specs = load_recipe("mini").runs()
        for spec in specs:
            steps, summary = made_up(spec)
            store.write(Run(spec.id, spec.model_dump(), summary, {}, identity=spec.identity), steps)
        assert all(store.has(spec.id) for spec in specs), "there is something left to run"
        print(f"{len(specs)} stored runs of {STEPS} steps, {os.cpu_count()} cores, load {os.getloadavg()[0]:.2f}")
        for _ in range(given.repeat):
            seconds, calls = timed(Path(folder))
            print(f"{seconds:5.2f} s   placed {calls['placed']} time(s)   {calls['read']} runs read", flush=True)
    print(f"(expected below {TARGET} s and placed once)")


if __name__ == "__main__":
    main()
