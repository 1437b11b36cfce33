"""Every cell of every table as a line of CSV."""

import csv
from collections.abc import Iterator
from io import StringIO

from gotta.printable import csv_value
from gotta.report.results import Results
from gotta.report.tables.cells import Table
from gotta.report.tables.prior_gains import PRIOR

COLUMNS = ("set_up", "table", "method", "memory", "prior", "quantity", "value", "interval", "seeds", "mark", "tied")


def table_csv(results: Results) -> str:
    """One line for each number; an interval is half its width, at 95 %."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for part in results.parts:
        lines = [line for view in part.views for line in _matrix(view.key, view.table)]
        lines += [line for table in part.details for line in _lines(table)]
        for table, method, memory, *rest in lines:
            prior = part.panel.priors.get(str(method), "none")
            writer.writerow(map(csv_value, (part.panel.title, table, method, memory, prior, *rest)))
    for row in results.choices.rows:
        *set_up, method, memory, setting, surrogate = row.names
        for column, cell in zip(results.choices.columns, row.cells, strict=True):
            value = cell.absent if cell.value is None else cell.value
            where = f"choice of {setting} by {surrogate}", method, memory, "none"
            writer.writerow(map(csv_value, ("".join(set_up), *where, column, value, None, cell.seeds, "", 0)))
    return text.getvalue()


Line = tuple[object, ...]


def _matrix(key: str, table: Table) -> Iterator[Line]:
    """Memories by methods."""
    name = {
        "none": "gain_over_none",
        "running_statistics": "gain_over_running_statistics",
        PRIOR: "gain_of_prior",
    }.get(key, key)
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
