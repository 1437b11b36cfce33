"""One row per run, the same every time."""

import csv
import io
import json

import pytest
from made_runs import made

from gotta.errors import GottaError
from gotta.report.store.export import as_csv, as_json, as_parquet, rows

RUNS = [
    made("fps", seed=1, memory__arguments={"epsilon": 0.01}),
    made("none", memory__capacity=None, stream__domains=["fog", "snow"]),
    made("fps", seed=0, memory__arguments={"epsilon": 0.01}),
]


def test_rows_are_sorted_and_complete_whatever_the_order_of_the_runs():
    table = rows(RUNS)
    assert table == rows(RUNS[::-1])
    assert [row["id"] for row in table] == [RUNS[1].id, RUNS[2].id, RUNS[0].id]  # no capacity first, then by seed
    assert len({tuple(row) for row in table}) == 1
    assert table[0]["spec.memory.epsilon"] is None
    assert table[1]["spec.memory.epsilon"] == 0.01
    assert table[0]["spec.stream.domains"] == '["fog", "snow"]'
    assert table[0]["summary.online.domains.snow-5.accuracy"] == 52.0


def test_timings_are_the_last_columns():
    names = list(rows(RUNS)[0])
    assert names[0] == "id"
    assert names[-3:] == ["summary.cost.peak_mb", "summary.cost.total.seconds", "summary.seconds"]
    assert names.index("summary.accuracy") < names.index("environment.python") < names.index("summary.seconds")


def test_csv_and_json_hold_the_same():
    table = rows(RUNS)
    read = list(csv.DictReader(io.StringIO(as_csv(table).decode())))
    assert json.loads(as_json(table)) == table
    assert [row["summary.accuracy"] for row in read] == [str(row["summary.accuracy"]) for row in table]
    assert read[0]["spec.memory.capacity"] == ""
    assert len(read) == 3


def test_parquet_holds_the_same():
    parquet = pytest.importorskip("pyarrow.parquet")
    table = rows(RUNS)
    assert parquet.read_table(io.BytesIO(as_parquet(table))).to_pylist() == table


def test_parquet_makes_one_kind_of_each_column():
    parquet = pytest.importorskip("pyarrow.parquet")
    read = parquet.read_table(io.BytesIO(as_parquet([{"a": 1, "b": "x"}, {"a": 0.5, "b": 2}, {"a": None, "b": None}])))
    assert read.to_pylist() == [{"a": 1.0, "b": "x"}, {"a": 0.5, "b": "2"}, {"a": None, "b": None}]


def test_without_pyarrow_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(GottaError, match=r"gotta-tta\[parquet\]"):
        as_parquet(rows(RUNS))


def test_names_of_anybodys_are_neither_formulas_nor_control_characters():
    table = rows(
        [made("=1+1", seed=1), made("a\x1b[31m\nb", method="@sum"), made("-1.5", **{"memory__arguments": {"+x": 1}})]
    )
    text = as_csv(table).decode()
    (head, *_), read = csv.reader(io.StringIO(text)), list(csv.DictReader(io.StringIO(text)))
    assert {row["spec.memory.name"] for row in read} == {"'=1+1", "a\\x1b[31m\\nb", "-1.5"}
    assert {row["spec.method.name"] for row in read} == {"norm", "'@sum"}
    assert not [name for name in head if name.startswith(("=", "+", "-", "@"))]
    assert len(text.splitlines()) == 4
    assert as_json(table).isascii()
    assert "\x1b" not in text + as_json(table).decode()
