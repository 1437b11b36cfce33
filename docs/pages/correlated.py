"""Samples sorted by class, as in the "correlated" benchmark of Doebler and others: their errors beside ours."""

from pathlib import Path

from gotta.report.pairs import difference
from gotta.report.stored_run import Run
from pages.parts import MADE, grid, join, mean, read, tell_gap
from pages.study import plan

FILE = "study-h"
PRINTED = {"source": 32.7, "rotta": 33.7, "sar": 37.1, "roid": 15.9, "lame": 11.3, "deskew": None}  # errors in %
USES_ORDER = ("roid", "lame", "deskew")
HEAD = """\
# Samples sorted by class

The "correlated" setting of the repository `mariodoebler/test-time-adaptation` (its `classification/benchmark.md`,
removed later): every class one after the other, batches of 200, all 15 corruptions of CIFAR-10-C, severity 5, never
reset. The authors use a ResNet-26 with GroupNorm, we the bundled `resnet20-gn`: compare orders, not levels. A test set
sorted by class rewards every method that expects the next sample to have the class of the last one (»). What such a
method gains here it does not gain on a mixed stream.

    gotta bench correlated"""


def make(root: Path) -> dict[Path, str]:
    runs = read(root, FILE) if (root / f"results/{FILE}.jsonl").exists() else []
    return {root / "docs/results/correlated.md": join([MADE, HEAD, *tell(list(runs))])}


def tell(runs: list[Run]) -> list[str]:
    if not runs:
        return ["No runs of this page are kept yet. The command makes them, and `gotta keep` keeps them."]
    by_method = {name: [run for run in runs if run.spec.method.name == name] for name in PRINTED}
    planned = plan("correlated", "")
    kept = sum(spec.id in {run.id for run in runs} for spec in planned)
    rows = {
        f"{name} »" if name in USES_ORDER else name: [
            *(("·", "·") if (level := mean(found)) is None else (f"{level:.1f}", f"{100 - level:.1f}")),
            "" if PRINTED[name] is None else f"{PRINTED[name]:.1f}",
            tell_gap(difference(found, by_method["source"])) if found and name != "source" else "",
            str(len({run.seed for run in found})),
        ]
        for name, found in by_method.items()
    }
    columns = ["accuracy", "error", "published error", "less the source", "seeds"]
    return [f"{kept} of {len(planned)} planned runs are kept. Numbers are in %.", grid("method", columns, rows)]
