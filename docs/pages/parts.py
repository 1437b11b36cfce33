"""What several pages are made with."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gotta.report.cells import measure, number
from gotta.report.pairs import Difference
from gotta.report.results import read_results
from gotta.report.rows import row_of
from gotta.report.stored_run import Run

MADE = "<!-- made by docs/make_pages.py: not edited by hand -->"
Named = tuple[str, str]  # a method, and what it has: a memory, a control, statistics


def read(root: Path, name: str) -> Sequence[Run]:
    """The kept runs of a recipe."""
    return read_results(root / "results" / f"{name}.jsonl").runs


def name_of(run: Run) -> Named:
    return run.spec.method.name, row_of(run).name


def mean(runs: Sequence[Run]) -> float | None:
    """The accuracy over seeds; None without runs."""
    return measure(runs, number("accuracy")).value


def tell_gap(found: Difference, refused: str = "not on the same stream") -> str:
    """A paired difference with its interval, or its range where the runs are too few for one."""
    one = found.estimate
    if one is None:
        return refused
    spread = f" ± {one.half:.1f}" if one.half is not None else f" ({one.range[0]:+.1f} to {one.range[1]:+.1f})"
    return f"{one.mean:+.1f}{spread}"


def grid(heading: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A Markdown table with numbers on the right."""
    lines = [f"| {heading} | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items())])


def join(parts: Sequence[str]) -> str:
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def fill(path: Path, contents: Mapping[str, str]) -> dict[Path, str]:
    """The file with new contents, each between the two marks of its name."""
    text = path.read_text(encoding="utf-8")
    for name, content in contents.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name.split(' ')[0]} -->"
        if begin not in text or end not in text:
            sys.exit(f"{path} has no place for the {name}: expected {begin} ... {end}")
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{content}\n{end}{rest.partition(end)[2]}"
    return {path: text}
