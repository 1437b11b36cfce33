"""What several pages are made with."""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gotta.report.results import read_results
from gotta.report.stored_run import Run

MADE = "<!-- made by docs/make_pages.py: not edited by hand -->"


def read(root: Path, name: str) -> Sequence[Run]:
    """The kept runs of a recipe."""
    return read_results(root / "results" / f"{name}.jsonl").runs


def grid(heading: str, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """A Markdown table with numbers on the right."""
    lines = [f"| {heading} | " + " | ".join(columns) + " |", "|---|" + "---:|" * len(columns)]
    return "\n".join([*lines, *(f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items())])


def join(parts: Sequence[str]) -> str:
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def between(text: str, name: str, content: str, where: Path) -> str:
    """The text with new content between two marks."""
    marks = f"<!-- {name} -->", f"<!-- end of {name.split(' ')[0]} -->"
    if not all(mark in text for mark in marks):
        sys.exit(f"{where} has no place for the {name}: expected {' ... '.join(marks)}")
    inside = re.compile(f"{re.escape(marks[0])}.*?{re.escape(marks[1])}", re.DOTALL)
    return inside.sub(lambda _: f"{marks[0]}\n{content}\n{marks[1]}", text)
