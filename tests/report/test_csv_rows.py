"""Every number of every table as a line."""

import csv
from io import StringIO
from itertools import pairwise

import pytest
from made_runs import made, stored
from made_store import many_runs, write
from made_tables import run

from gotta.report.results import read_results
from gotta.report.write import table_csv, write_report


def test_csv_has_the_numbers_of_the_tables(tmp_path):
    results = read_results(write(tmp_path, many_runs()))
    lines = list(csv.DictReader(StringIO(table_csv(results))))
    (shown, *_) = results.chapters[0].tables("accuracy")
    expected = {
        (" + ".join(row.names), column): cell.value
        for row in shown.rows
        for column, cell in zip(shown.columns, row.cells, strict=True)
        if cell.value is not None
    }
    got = {(r["row"], r["column"]): float(r["value"]) for r in lines if r["table"] == shown.title}
    assert got == pytest.approx(expected)
    assert {table.title for table in results.chapters[0].all_tables} >= {r["table"] for r in lines} > {shown.title}


NAMES = ("=cmd|' /C calc'!A0", "+1\x1b[31m", "-a\nb", "@x\u2028y|z\x9b<b>", "fps")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    runs = [made(memory, seed=seed) for memory in NAMES for seed in (0, 1)]
    runs += [made("fps", method="te\x1b]0;nt\x07\n", seed=seed) for seed in (0, 1)]
    store = stored(tmp_path_factory.mktemp("hostile"), runs)
    write_report(read_results(store))
    return store.root


def test_no_cell_of_the_csv_is_a_formula(folder):
    lines = csv.reader((folder / "tables.csv").read_text(encoding="utf-8").splitlines())
    texts = [text for line in lines for text in line]
    assert "'=cmd|' /C calc'!A0" in texts
    assert "'+1\\x1b[31m" in texts
    for text in texts:
        assert text == "" or text.isprintable()
        assert not text.startswith(("=", "+", "@"))
        assert not text.startswith("-") or float(text) < 0


@pytest.mark.parametrize("name", ["tables.csv", "tables.md", "tables.tex"])
def test_no_control_character_is_in_a_table(folder, name):
    text = (folder / name).read_text(encoding="utf-8")
    assert text.replace("\n", "").isprintable()


def test_every_row_of_the_markdown_has_as_many_cells_as_its_heading(folder):
    lines = (folder / "tables.md").read_text(encoding="utf-8").replace("\\|", "").split("\n")
    rows = [line.count("|") for line in lines if line.startswith("|")]
    assert len(rows) > 10
    for before, after in pairwise(lines):
        if before.startswith("|") and after.startswith("|"):
            assert before.count("|") == after.count("|")


def test_what_surrogates_choose_stands_at_the_end(tmp_path):
    runs = [
        run("fps", "tent", accuracy, summary={"online": {"entropy": entropy}}, method__arguments={"lr": lr})
        for lr, accuracy, entropy in ((0.1, 40.0, 0.1), (0.01, 60.0, 0.5))
    ]
    lines = table_csv(read_results(stored(tmp_path, runs))).splitlines()
    assert ",Settings chosen without labels,tent + fps + lr + entropy,cost,20.0,,1,0,0" in lines
