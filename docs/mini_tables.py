"""The table and the answers of `mini` in README.md and docs/results/mini.md.

`python docs/mini_tables.py results/mini.jsonl`, or a folder of runs.
"""

import re
import sys
from dataclasses import replace
from pathlib import Path

from gotta.cli.stores import existing
from gotta.report.part import Part
from gotta.report.results import read_results
from gotta.report.tables.cells import Cell, Table
from gotta.report.tables.render import markdown, prose

TOP = Path(__file__).parents[1]
ROWS = ("none", "fps", "class statistics", "control: running statistics", "control: statistics of the whole domain")


def main(folder: str) -> None:
    parts = read_results(existing(Path(folder))).parts
    shown = _beside(parts)
    lines = markdown(shown).splitlines()
    table = [line for line in lines if line.startswith("|")]
    notes = "\n".join(line for line in lines if line.startswith("- "))
    answers = "\n\n".join(f"**{_name(part)}** {prose(str(part.answer))}" for part in parts)
    _renew(TOP / "README.md", "\n".join(_first_rows(table)), prose(str(parts[0].answer.winner)))
    _renew(TOP / "docs/results/mini.md", "\n".join([*table, "", notes]), answers)


def _first_rows(table: list[str]) -> list[str]:
    """The heading, and of the rows those that tell the story."""
    kept = [line for line in table[2:] if line.split("|")[1].strip() in ROWS or "at its best rate" in line]
    return [*table[:2], *kept]


def _name(part: Part) -> str:
    order = part.panel.runs[0].spec.stream["order"]
    return "i.i.d." if order == "iid" else f"{order.capitalize()}."


def _beside(parts: tuple[Part, ...]) -> Table:
    """The tables of all streams as one, without the seconds; the columns of the others say which stream."""
    tables = [part.table() for part in parts]
    found = {
        (row.names, f"{column}, {_name(part)}" if number else column): replace(cell, seconds=None)
        for number, (part, table) in enumerate(zip(parts, tables, strict=True))
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
    }
    columns = tuple(dict.fromkeys(column for _, column in found))
    rows = tuple(
        replace(row, cells=tuple(found.get((row.names, column), Cell()) for column in columns))
        for row in tables[0].rows
    )
    caption = [line for line in tables[0].caption if not line.startswith(("In brackets", "These runs"))]
    return Table(tables[0].title, tables[0].heading, columns, rows, tuple(caption))


def _renew(path: Path, table: str, answer: str) -> None:
    text = path.read_text()
    for name, content in (("table", table), ("answer", answer)):
        marks = f"<!-- {name} of mini -->", f"<!-- end of {name} -->"
        if not all(mark in text for mark in marks):
            sys.exit(f"{path} has no place for the {name}: expected {' ... '.join(marks)}")
        inside = re.compile(f"{marks[0]}.*?{marks[1]}", re.DOTALL)
        text = inside.sub(lambda _, content=content, marks=marks: f"{marks[0]}\n{content}\n{marks[1]}", text)
    path.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1])
