"""Every number of every table as a line."""

import csv
from io import StringIO

import pytest
from made_store import many_runs, write

from gotta.report.results import read_results
from gotta.report.tables.csv_rows import table_csv


def test_csv_has_the_numbers_of_the_tables(tmp_path):
    results = read_results(write(tmp_path, many_runs()))
    lines = list(csv.DictReader(StringIO(table_csv(results))))
    shown = results.parts[0].table()
    expected = {
        (row.names[0], column): cell.value
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if cell.value is not None
    }
    got = {(r["memory"], r["method"]): float(r["value"]) for r in lines if r["table"] == "accuracy"}
    assert got == pytest.approx(expected)
