import json

import pytest
from made_runs import made
from made_store import write

from gotta import GottaError
from gotta.experiment.sweep.store import STEPS
from gotta.report.results import read_results
from gotta.report.series import HEAD, Count, Visit, count_step, series, visits

STEP = {"step": 3, "samples": 64, "correct": 17, "accuracy": 26.5, "domains": {"fog-5": 60, "snow-5": 4}, "memory": {}}


def test_a_step_is_counted_at_a_glance():
    line = json.dumps(STEP).encode()
    assert HEAD.match(line)
    assert count_step(line) == Count(64, 17, STEP["domains"])


@pytest.mark.parametrize("name", ['a}b"', "{x", '"domains": {"y": 1}, ', "\\", "\u00fc"])
def test_any_name_of_a_domain_is_counted(name):
    step = STEP | {"note": name, "domains": {name: 60, "snow-5": 4}}
    assert count_step(json.dumps(step).encode()) == Count(64, 17, step["domains"])


def test_a_line_of_another_order_is_counted_as_well():
    line = json.dumps(dict(reversed(STEP.items()))).encode()
    assert not HEAD.match(line)
    assert count_step(line) == Count(64, 17, STEP["domains"])
    assert count_step(b'{"step": 1, "samples": 5}') == Count(5, 0, {})
    assert count_step(b'{"step": 1}') is None


def test_visits_are_spans_of_the_stream():
    assert visits([{"a": 5}, {"a": 2, "b": 3}, {"b": 5}]) == [Visit("a", 0, 7), Visit("b", 7, 15)]
    assert visits([{"a": 5, "b": 1}, {"a": 2, "b": 3}]) == []
    assert visits([]) == []


@pytest.mark.parametrize("content", [b"\x00\x00\n", b"[1]\n", b'{"samples": 5, "domains": 7}\n'])
def test_steps_of_wrong_bytes_are_one_message(tmp_path, content):
    (run,) = read_results(write(tmp_path, [made()])).runs
    (run.stored.folder / STEPS).write_bytes(content)
    with pytest.raises(GottaError, match="cannot be read"):
        series(run)


def test_series_follow_the_stream(tmp_path):
    (run,) = read_results(write(tmp_path, [made("fps", scores=(63, 64, 65, 66))])).runs
    line = series(run)
    assert line.at == tuple(range(100, 900, 100))
    assert line.accuracy()[0] == 63
    assert line.accuracy(2)[2] == 63.5
    assert [visit.start for visit in line.visits] == [0, 200, 400, 600]
    assert len(series(run, bins=4)) == 4
