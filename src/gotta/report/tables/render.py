"""Tables as Markdown, as plain text and for a terminal. Marks can be read without colour everywhere."""

from dataclasses import replace

from rich.console import Group
from rich.table import Table as RichTable
from rich.text import Text

from gotta.printable import one_line, printable
from gotta.report.tables.cells import BEST, SECOND, Cell, Table

PLAIN_MARKS = {BEST: "*", SECOND: "+", "": ""}
STYLES = {BEST: "bold green", SECOND: "cyan", "": ""}


def markdown(table: Table) -> str:
    """A heading, the table, its caption."""
    lines = [f"### {prose(table.title)}", ""]
    lines += [_markdown_line([_name(name) for name in (*table.heading, *table.columns)])]
    lines += ["|" + "---|" * len(table.heading) + "---:|" * len(table.columns)]
    for row in table.rows:
        lines.append(
            _markdown_line([*map(_name, row.names), *(_markdown_cell(cell, table.seeds) for cell in row.cells)])
        )
    legend = ["Bold: best of a column; underlined: second best; controls and source are not ranked."]
    caption = [*(legend if table.has_marks else []), *table.footnotes, *table.caption]
    return "\n".join([*lines, "", *(f"- {prose(line)}" for line in caption)]).rstrip() + "\n"


def plain(table: Table) -> str:
    """Aligned text for any terminal or log."""
    table = _in_lines(table)
    grid = [[*table.heading, *table.columns]]
    grid += [[*row.names, *(_plain_cell(cell, table.seeds) for cell in row.cells)] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    grid.insert(1, ["-" * width for width in widths])
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in grid]
    return "\n".join([table.title, "", *lines, "", *_plain_caption(table)]) + "\n"


def rich_table(table: Table) -> Group:
    """For rich's console: colours, the same marks as in plain text, and the caption as wide as the console."""
    table = _in_lines(table)
    result = RichTable(title=table.title, title_justify="left")
    for name in table.heading:
        result.add_column(Text(name))
    for name in table.columns:
        result.add_column(Text(name))  # wraps where the terminal is narrow: a cut number would mislead
    for row in table.rows:
        style = "" if row.ranked else "dim"
        names = [Text(name, style=style) for name in row.names]
        result.add_row(*names, *(_rich_cell(cell, table.seeds, style) for cell in row.cells))
    return Group(result, Text("\n".join(_plain_caption(table)), style="dim"))


def prose(text: str) -> str:
    """Somebody's words as one line of Markdown in which nothing is taken for HTML."""
    return printable(" ".join(text.split())).replace("<", "&lt;")


def _in_lines(table: Table) -> Table:
    """The table with names that stay in their lines and hold no control characters."""
    rows = tuple(replace(row, names=_each_in_a_line(row.names)) for row in table.rows)
    heading, columns, caption = map(_each_in_a_line, (table.heading, table.columns, table.caption))
    return Table(one_line(table.title), heading, columns, rows, caption)


def _each_in_a_line(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(one_line, names))


def _name(text: str) -> str:
    return prose(text).replace("|", "\\|")


def _markdown_line(parts: list[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def _markdown_cell(cell: Cell, seeds: int) -> str:
    number = {BEST: f"**{cell.number}**", SECOND: f"<u>{cell.number}</u>"}.get(cell.mark, cell.number)
    return number + cell.extras(seeds)


def _plain_cell(cell: Cell, seeds: int) -> str:
    return cell.number + PLAIN_MARKS[cell.mark] + cell.extras(seeds)


def _rich_cell(cell: Cell, seeds: int, row_style: str) -> Text:
    text = Text(cell.number + PLAIN_MARKS[cell.mark], style=STYLES[cell.mark] or row_style)
    return text.append(cell.extras(seeds), style="dim")


def _plain_caption(table: Table) -> list[str]:
    legend = ["* best of a column; + second best; controls and source are not ranked."]
    return [*(legend if table.has_marks else []), *table.footnotes, *table.caption]
