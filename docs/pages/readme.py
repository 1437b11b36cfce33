"""The table of README.md: three methods with each memory at the paper's length, its numbers beside ours."""

from collections.abc import Mapping
from pathlib import Path

from gotta.report.paper.numbers import tables
from gotta.report.rows import list_in_words
from pages.parts import fill, grid
from pages.study import RUNNING, Shown, Study, column_of, read_study

WORDS = {1: "one", 2: "two", 3: "three"}
METHODS = {"norm": "Norm", "note": "NOTE", "rotta": "RoTTA"}
MEMORIES = {
    "none": "none, steps of 64",
    "fifo": "FIFO",
    "reservoir": "Reservoir",
    "cbfifo": "FIFO in every class",
    "pbrs": "PBRS (NOTE)",
    "cstu": "CSTU (RoTTA)",
    "cds": "CDS",
    "fpsd": "FPSD",
    "fps": "**FPS** (the paper's)",
    RUNNING: "none, running statistics",
}
Columns = Mapping[str, Shown]  # by method


def make(root: Path) -> dict[Path, str]:
    found = columns(read_study(root))
    heads = [column for name in METHODS.values() for column in (name, "paper")]
    content = f"{tell_seeds(found)}\n\n{grid('memory', heads, rows(found))}"
    return fill(root / "README.md", {"table of study": content})


def columns(study: Study) -> Columns:
    """Those of the page of Table 1."""
    printed = tables()["table1"].columns().values()
    found = {cells[0].method: column_of(cells, study) for cells in printed if cells[0].method in METHODS}
    return {method: found[method] for method in METHODS}


def tell_seeds(found: Columns) -> str:
    """How many seeds each method has, those that all of its rows share."""
    named: dict[int, list[str]] = {}
    for method, column in found.items():
        if column.seeds:
            named.setdefault(column.seeds, []).append(METHODS[method])
    told = (f"{WORDS.get(count, count)} for {list_in_words(names)}" for count, names in named.items())
    return f"Seeds: {', '.join(told)}."


def rows(found: Columns) -> dict[str, list[str]]:
    """The accuracy of each method with each memory, ours and the printed one."""
    return {
        shown: [cell for column in found.values() for cell in (ours(column, memory), printed(column, memory))]
        for memory, shown in MEMORIES.items()
    }


def ours(column: Shown, memory: str) -> str:
    return f"{column.ours[memory]:.1f}" if memory in column.ours else "·"


def printed(column: Shown, memory: str) -> str:
    return f"{float(column.printed[memory]):.1f}" if memory in column.printed else ""
