"""Every cell of every table as a line of CSV."""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO

from gotta.experiment.sweep.store import Run
from gotta.printable import csv_value
from gotta.report.axes import panels
from gotta.report.page.views import views
from gotta.report.tables.cells import Table
from gotta.report.tables.details import calibration_table, cost_table, domain_table, memory_table

COLUMNS = ("set_up", "table", "method", "memory", "quantity", "value", "interval", "seeds", "mark", "tied")


def table_csv(runs: Sequence[Run]) -> str:
    """One line for each number; an interval is half its width, at 95 %."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for panel in panels(runs):
        for view in views(panel.runs):
            writer.writerows(map(csv_value, (panel.title, *line)) for line in _matrix(view.key, view.table))
        for table in (domain_table, memory_table, cost_table, calibration_table):
            writer.writerows(map(csv_value, (panel.title, *line)) for line in _lines(table(panel.runs)))
    return text.getvalue()


Line = tuple[object, ...]


def _matrix(key: str, table: Table) -> Iterator[Line]:
    """Memories by methods."""
    name = {"none": "gain_over_none", "running_statistics": "gain_over_running_statistics"}.get(key, key)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is not None:
                yield name, column, row.names[0], name, cell.value, cell.interval, cell.seeds, cell.mark, int(cell.tied)


def _lines(table: Table) -> Iterator[Line]:
    """Method and memory by quantities."""
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            if cell.value is not None:
                yield table.title, *row.names, column, cell.value, cell.interval, cell.seeds, cell.mark, int(cell.tied)
