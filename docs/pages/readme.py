"""The table of README.md: three methods with each memory at the paper's length, its numbers beside ours."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from gotta.report.paper.numbers import lookup
from gotta.report.stored_run import Run
from pages.parts import between, grid, read

STUDY = "study-a"
METHODS = {"norm": "Norm", "note": "NOTE", "rotta": "RoTTA"}
MEMORIES = {
    "none": "none",
    "fifo": "FIFO",
    "reservoir": "Reservoir",
    "cbfifo": "FIFO in every class",
    "pbrs": "PBRS (NOTE)",
    "cstu": "CSTU (RoTTA)",
    "cds": "CDS",
    "fpsd": "FPSD",
    "fps": "**FPS** (the paper's)",
    "running_statistics": "none, running statistics",
}


def make(root: Path) -> dict[Path, str]:
    path = root / "README.md"
    runs = read(root, STUDY)
    columns = [column for name in METHODS.values() for column in (name, "paper")]
    return {
        path: between(path.read_text(encoding="utf-8"), "table of study", grid("memory", columns, rows(runs)), path)
    }


def rows(runs: Sequence[Run]) -> dict[str, list[str]]:
    """The accuracy of each method with each memory, ours and the printed one."""
    return {
        shown: [cell for method in METHODS for cell in (ours(runs, method, memory), printed(method, memory))]
        for memory, shown in MEMORIES.items()
    }


def ours(runs: Sequence[Run], method: str, memory: str) -> str:
    found = accuracies(runs, method, memory)
    return f"{mean(found):.1f}" if found else "·"


def accuracies(runs: Sequence[Run], method: str, memory: str = "none") -> list[float]:
    """One for each seed."""
    found = [
        run for run in runs if run.spec.method.name == method and (run.spec.control or run.spec.memory.name) == memory
    ]
    return [run.accuracy for run in found if run.accuracy is not None]


def printed(method: str, memory: str) -> str:
    found = [cell for cell in lookup(method, memory, 32, "never", "cifar10-c", 0.1) if cell.where == "table1"]
    return f"{found[0].value:.1f}" if found else ""
