"""The table of README.md: three methods with each memory at the paper's length, its numbers beside ours."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from gotta.report.paper.numbers import lookup
from gotta.report.rows import list_in_words
from gotta.report.stored_run import Run
from pages.parts import fill, grid, name_of, read

STUDY = "study-a"
WORDS = {1: "one", 2: "two", 3: "three"}
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
    runs = read(root, STUDY)
    columns = [column for name in METHODS.values() for column in (name, "paper")]
    content = f"{tell_seeds(runs)}\n\n{grid('memory', columns, rows(runs))}"
    return fill(root / "README.md", {"table of study": content})


def tell_seeds(runs: Sequence[Run]) -> str:
    """How many seeds each method has, the fewest and the most of its memories."""
    named: dict[str, list[str]] = {}
    for method, shown in METHODS.items():
        counts = {len(accuracies(runs, method, memory)) for memory in MEMORIES} - {0}
        if counts:
            text = " to ".join(WORDS.get(count, str(count)) for count in sorted({min(counts), max(counts)}))
            named.setdefault(text, []).append(shown)
    return f"Seeds: {', '.join(f'{text} for {list_in_words(names)}' for text, names in named.items())}."


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
    return [run.accuracy for run in runs if name_of(run) == (method, memory) and run.accuracy is not None]


def printed(method: str, memory: str) -> str:
    found = [
        cell
        for cell in lookup(method, memory, 32, reset="never", data="cifar10-c", gamma=0.1)
        if cell.where == "table1"
    ]
    return f"{found[0].value:.1f}" if found else ""
