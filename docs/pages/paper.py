"""The published numbers and their inconsistencies."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from gotta.report.paper.numbers import (
    Inconsistency,
    PaperTable,
    Published,
    document,
    inconsistencies,
    tables,
)
from pages.inconsistencies import COMPUTED, text_numbers
from pages.parts import grid, join


def make(root: Path) -> dict[Path, str]:
    return {root / "docs/paper-numbers.md": paper_markdown()}


def paper_markdown() -> str:
    """Every table as printed, the numbers of the text, and what does not fit together."""
    about = document()
    parts = [
        "# The paper's numbers",
        f"*{about['title']}* ({about['reference']}): {about['metric']}. Made from the data "
        "that `gotta report` compares with. Bold, underlined and shaded (†) are the paper's marks.",
        "## What does not fit together",
        "Places are named by table, method, memory and setting; values are as printed. What is marked *computed* is "
        "found again from the numbers by a test; the rest was found by reading.",
        *_flags(inconsistencies()),
        "## Tables",
        *(_table(table) for table in tables().values()),
        "## Numbers in the text",
        _text(text_numbers()),
    ]
    return join(parts)


def _flags(entries: Sequence[Inconsistency]) -> list[str]:
    parts = []
    for kind, group in groupby(sorted(entries, key=lambda entry: entry.kind), key=lambda entry: entry.kind):
        heading = f"### {kind.replace('_', ' ').capitalize()}"
        parts += [heading + (" (computed)" if kind in COMPUTED else "")]
        parts.append("\n".join(f"- {entry.what}{_places(entry)}" for entry in group))
    return parts


def _places(entry: Inconsistency) -> str:
    if len(entry.places) == len(entry.values):
        shown = [f"{place}: {value:.2f}" for place, value in zip(entry.places, entry.values, strict=True)]
    else:
        shown = [*entry.places, *(f"{value:g}" for value in entry.values)]
    return "".join(f"\n  - {part}" for part in shown)


def _table(table: PaperTable) -> str:
    columns = [{cell.memory: cell for cell in cells} for cells in table.columns().values()]
    headings = [_heading(next(iter(column.values()))) for column in columns]
    memories = dict.fromkeys(cell.memory for cell in table.cells)
    rows = {memory: [_print_value(column.get(memory)) for column in columns] for memory in memories}
    return f"### {table.name}: {table.title}\n\n{grid('memory', headings, rows)}"


def _heading(cell: Published) -> str:
    if cell.where == "table2":
        return f"{cell.method} M={cell.capacity}"
    return f"{cell.method} {cell.data} {cell.gamma:g}" if cell.where == "table3" else cell.method


def _print_value(cell: Published | None) -> str:
    if cell is None:
        return "--"
    number = f"{cell.value:.{cell.decimals}f}" + ("†" if cell.shaded else "")
    number = f"**{number}**" if cell.bold else number
    return f"<u>{number}</u>" if cell.underlined else number


def _text(numbers: Sequence[Published]) -> str:
    lines = [
        "| where | value | method | memory | M | reset | data | gamma | epsilon |",
        "|---|---:|---|---|---:|---|---|---:|---:|",
    ]
    for cell in numbers:
        epsilon = "not stated" if cell.epsilon is None else f"{cell.epsilon:g}"
        lines.append(
            f"| {cell.where.removeprefix('text, ')} | {cell.value:.{cell.decimals}f} | {cell.method} | {cell.memory} | "
            f"{cell.capacity} | {cell.reset} | {cell.data} | {cell.gamma:g} | {epsilon} |"
        )
    return "\n".join(lines)
