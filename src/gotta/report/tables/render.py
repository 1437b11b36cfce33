"""Tables as Markdown and as plain text. Marks can be read without colour."""

from gotta.report.cells import BEST, SECOND, Cell, Table
from gotta.safe_text import one_line, spell_out

PLAIN_MARKS = {BEST: "*", SECOND: "", "": ""}


def markdown(table: Table) -> str:
    """A heading, the table, its caption."""
    lines = [f"### {prose(table.title)}", ""]
    lines += [_markdown_line([_name(name) for name in (*table.heading, *table.columns)])]
    lines += ["|" + "---|" * len(table.heading) + "---:|" * len(table.columns)]
    for row in table.rows:
        cells = [_markdown_cell(cell, table.seeds) for cell in row.cells]
        lines.append(_markdown_line([*map(_name, row.names), *cells]))
    best = ["Bold: best of its column; underlined: second best."] if table.has_marks else []
    legend = [f"{'; '.join(table.legend)}."] if table.legend else []
    caption = [*best, *legend, *table.footnotes, *table.caption]
    return "\n".join([*lines, "", *(f"- {prose(line)}" for line in caption)]).rstrip() + "\n"


def plain(table: Table, details: bool = True) -> str:
    """Aligned text for any terminal or log, without control characters; without `details` nothing stands below it."""
    grid = [[*table.heading, *table.columns]]
    grid += [[*row.names, *(_plain_cell(cell, table.seeds) for cell in row.cells)] for row in table.rows]
    grid = [list(map(one_line, line)) for line in grid]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    grid.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in grid]
    below = [*filter(None, [explain_marks(table)]), *table.footnotes, *table.caption] if details else []
    return "\n".join([one_line(table.title), "", *lines, "", *map(one_line, below)]).rstrip() + "\n"


def prose(text: str) -> str:
    """Somebody's words as one line of Markdown in which nothing is taken for HTML."""
    return spell_out(" ".join(text.split())).replace("<", "&lt;")


def _name(text: str) -> str:
    return prose(text).replace("|", "\\|")


def _markdown_line(parts: list[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def _markdown_cell(cell: Cell, seeds: int) -> str:
    number = {BEST: f"**{cell.number}**", SECOND: f"<u>{cell.number}</u>"}.get(cell.mark, cell.number)
    return number + cell.extras(seeds)


def _plain_cell(cell: Cell, seeds: int) -> str:
    return cell.number + PLAIN_MARKS[cell.mark] + cell.extras(seeds)


def explain_marks(*tables: Table) -> str:
    """What the marks in these tables mean, in a line."""
    best = ["* best of its column"] if any(table.has_marks for table in tables) else []
    return "; ".join(dict.fromkeys([*best, *(meaning for table in tables for meaning in table.legend)]))
