"""Every number of every table as a line of CSV."""

import csv
from io import StringIO

from gotta.report.results import Results
from gotta.safe_text import csv_value

COLUMNS = ("set_up", "table", "row", "column", "value", "interval", "seeds", "tied", "uses_order")


def table_csv(results: Results) -> str:
    """One line for each number; an interval is half its width, at 95 %."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    named = [(chapter.panel.title, table) for chapter in results.chapters for table in chapter.all_tables]
    for title, table in [*named, ("", results.choices)]:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.value is not None:
                    number = cell.value, cell.interval, cell.seeds, int(cell.tied), int(cell.uses_order)
                    place = title, table.title, " + ".join(row.names), column
                    writer.writerow(map(csv_value, (*place, *number)))
    return text.getvalue()
