"""Every number of every table as a line of CSV."""

import csv
from collections.abc import Iterator
from io import StringIO

from gotta.report.cells import Cell, measure, number
from gotta.report.panel import Panel
from gotta.report.results import Part, Results
from gotta.report.tables.comparison import METRICS
from gotta.report.tables.gains import BASELINES, gains, prior_gains
from gotta.safe_text import csv_value

COLUMNS = ("set_up", "table", "method", "memory", "quantity", "value", "interval", "seeds", "tied", "uses_order")
SHOWN = ("accuracy", "error", "seconds")
Line = tuple[object, ...]


def table_csv(results: Results) -> str:
    """One line for each number; an interval is half its width, at 95 %."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for part in results.parts:
        for line in (*_compared(part.panel), *_gained(part.panel), *_details(part)):
            writer.writerow(map(csv_value, (part.panel.title, *line)))
    for line in _choices(results):
        writer.writerow(map(csv_value, line))
    return text.getvalue()


def _compared(panel: Panel) -> Iterator[Line]:
    for metric in SHOWN:
        for entry in panel.entries:
            cell = measure(entry.runs, number(metric), METRICS[metric].decimals)
            yield from _line(metric, (entry.column.label, entry.row.label), metric, cell)


def _gained(panel: Panel) -> Iterator[Line]:
    found = {f"gain_over_{key}": gains(panel, baseline) for key, baseline in BASELINES.items()}
    for name, cells in (found | {"gain_of_prior": prior_gains(panel)}).items():
        for (row, column), cell in cells.items():
            yield from _line(name, (column.label, row.label), name, cell)


def _details(part: Part) -> Iterator[Line]:
    for table in part.details:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                yield from _line(table.title, row.names, column, cell)


def _line(table: str, names: tuple[str, ...], quantity: str, cell: Cell) -> Iterator[Line]:
    if cell.value is not None:
        yield table, *names, quantity, cell.value, cell.interval, cell.seeds, int(cell.tied), int(cell.uses_order)


def _choices(results: Results) -> Iterator[Line]:
    for row in results.choices.rows:
        *set_up, method, memory, setting, surrogate = row.names
        for column, cell in zip(results.choices.columns, row.cells, strict=True):
            value = cell.absent if cell.value is None else cell.value
            where = "".join(set_up), f"choice of {setting} by {surrogate}", method, memory
            yield *where, column, value, None, cell.seeds, 0, 0
