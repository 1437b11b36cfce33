"""Runs are checked and typed once, when they are read."""

import pytest
from made_runs import domains_of, made, stored

from gotta.experiment.spec.identity import FORMAT
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.report.stored_run import read_runs


def test_settings_numbers_and_domains_have_one_name_each():
    run = made(memory__arguments={"epsilon": 0.1}, seed=3)
    assert run.seed == 3
    assert run.settings["memory.epsilon"] == 0.1
    assert run.section("memory", "seed") == {
        "memory.name": "fps",
        "memory.capacity": 32,
        "memory.refresh_every": None,
        "memory.epsilon": 0.1,
        "seed": 3,
    }
    assert (run.accuracy, run.numbers["cost.total.forwards"]) == (53.0, 3.0)
    assert run.scores("error")["snow-5"] == 48.0


def test_numbers_are_finite_and_no_flags():
    odd = {"accuracy": None, "flag": True, "huge": float("inf"), "text": "1", "list": [1]}
    assert made(summary=odd).numbers.keys() & odd.keys() == set()


def test_a_later_visit_of_a_domain_is_numbered():
    visits = domains_of((1.0, 2.0, 3.0), ("fog", "snow", "fog"))
    assert made(summary={"online": {"domains": visits}}).scores() == {"fog": 1.0, "snow": 2.0, "fog (visit 2)": 3.0}


def test_reading_gives_what_was_written(tmp_path):
    runs = [made("none"), made("fps", seed=1)]
    found, damaged = read_runs(stored(tmp_path, runs))
    assert damaged == []
    assert [(run.id, run.spec, run.summary) for run in found] == [
        (run.id, run.spec, run.summary) for run in sorted(runs, key=lambda run: run.id)
    ]
    assert found[0].stored.folder == tmp_path / "runs" / found[0].id


@pytest.mark.parametrize(
    ("file", "change", "reason"),
    [
        ("spec", {"recipe": "mini"}, "setting 'recipe'"),
        ("spec", {"seed": "first"}, "seed: input should be a valid integer"),
        ("spec", {"stream": {"colour": "blue"}}, "unexpected keyword argument 'colour'"),
        ("summary", {"online": {"domains": [{"name": "fog"}]}}, "online.domains.0.samples is missing"),
        ("summary", {"online": {"domains": {}}}, "online.domains: input should be a valid tuple"),
        ("summary", {"decisions": ["stored"]}, "decisions: expected settings by name"),
    ],
)
def test_what_this_version_cannot_read_is_named_and_left_out(tmp_path, file, change, reason):
    store, other = stored(tmp_path, [made("none")]), made().stored
    identity = {"format": FORMAT, "settings": change if file == "spec" else {}, "parts": {}}
    parts = {"spec": other.spec, "summary": other.summary, "environment": {}, "identity": identity}
    store.write(StoredRun(other.id, **(parts | {file: parts[file] | change})), [])
    runs, ((id, told),) = read_runs(store)
    assert [run.id for run in runs] == [made("none").id]
    assert id == made().id
    assert told.startswith("it does not fit this version of gotta: ")
    assert reason in told


def test_parts_of_somebody_else_need_not_be_installed(tmp_path):
    run = made("my_policy:Mine", "their_method", stream__order="theirs", data__name="not here", model__name="not here")
    runs, damaged = read_runs(stored(tmp_path, [run]))
    assert (len(runs), damaged) == (1, [])
