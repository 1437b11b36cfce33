import sys
from types import ModuleType

import pytest
from small_recipe import ONE, RECIPE

from gotta import GottaError, bench, plan
from gotta.workflow.result import Result


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    return bench(RECIPE, seeds=[0], out=tmp_path_factory.mktemp("store"))


def test_a_result_has_a_table_for_each_set_up_and_says_what_can_be_told(result):
    tables = result.table()
    assert len(tables) == len(result.chapters) == len(result.answers())
    assert all(name in str(tables) for name in ("source", "norm", "tent", "fps"))
    assert "|" in tables._repr_markdown_()
    assert "seconds" in str(result.table("seconds")).lower()
    assert str(tables) in str(result)


def test_two_entries_are_compared_like_with_like(result):
    lines = result.compare("fps", "same samples per step")
    assert {line.first.column for line in lines} == {line.second.column for line in lines}
    assert {line.gap.seeds for line in lines} == {1}
    assert "Too few for a verdict" in str(lines)
    with pytest.raises(GottaError, match="Did you mean 'fps'"):
        result.compare("fsp", "none")


def test_answers_are_part_of_what_is_printed(result):
    assert result.answers()[0] in str(result)


def test_a_table_names_the_values_that_presets_and_defaults_decide(tmp_path):
    settings = [{}, {"method": {"lr": 0.5}}, {"method": {"preset": "tea"}}, {"memory": {"refresh_every": 3}}]
    cells = [{"method": ["tent"], "memory": ["fpsd"], "settings": one} for one in settings]
    shown = str(bench({**ONE, "cells": cells}, out=tmp_path).table())
    assert "refresh_every=10" in shown
    assert "lr=0.001" in shown
    assert "None" not in shown


def test_runs_have_their_spec_summary_and_steps(result):
    assert len(result.runs) == len(result.specs) == 8
    assert result.failures == ()


def test_a_report_is_written_and_its_page_named(result):
    path = result.report()
    assert path == result.store.root / "report.html"
    assert "<html" in path.read_text()


def test_a_frame_has_a_row_for_each_run(result, monkeypatch):
    module = ModuleType("pandas")
    module.DataFrame = lambda rows: rows
    monkeypatch.setitem(sys.modules, "pandas", module)
    frame = result.frame()
    assert [row["spec.method.name"] for row in frame].count("tent") == 4
    assert all(0 <= row["summary.accuracy"] <= 100 for row in frame)


def test_a_frame_of_pandas(result):
    pandas = pytest.importorskip("pandas")
    frame = result.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert len(frame) == 8


def test_without_pandas_a_frame_is_one_clear_error(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(GottaError, match=r"needs pandas .*: pip install 'gotta-tta\[pandas\]'"):
        result.frame()


def test_a_result_without_a_finished_run_says_so(tmp_path):
    planned = plan(ONE, out=tmp_path)
    empty = Result(planned.specs, planned.store)
    assert str(empty) == "no run is finished"
    for ask in (empty.table, empty.answers):
        with pytest.raises(GottaError, match="no run is finished"):
            ask()
