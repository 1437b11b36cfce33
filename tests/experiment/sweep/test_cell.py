"""Cells that are recorded: the recording is whole, and their numbers are those of cells that are not."""

import json
from dataclasses import replace
from shutil import rmtree

import pytest
from experiment.tiny_sweep import completions, leftovers, numbers, recordings, specs, use_tiny

from gotta.experiment.run.memory_film import record_path
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.engines.local import Local
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Sweep
from gotta.workflow import Plan

CELLS = specs(3)
RECORDED = frozenset(spec.id for spec in CELLS[:2])


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny(monkeypatch)


def swept(root, record=frozenset(), jobs=1):
    """The events of a sweep over all cells."""
    events = []
    work = Work(str(root), record=record)
    assert Sweep(Store(root, writable=True), work, Local(jobs), events.append).run(CELLS) == []
    return events


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_recorded_sweep_gives_the_numbers_of_others_and_the_recordings_of_single_runs(tmp_path, jobs):
    swept(tmp_path / "plain")
    swept(tmp_path / "recorded", RECORDED, jobs)
    for spec in CELLS[:2]:
        Plan((spec,), Store(tmp_path / "single"), to_record=(spec,)).run()
    assert numbers(tmp_path / "recorded") == numbers(tmp_path / "plain")
    assert recordings(tmp_path / "recorded") == recordings(tmp_path / "single")
    assert recordings(tmp_path / "single").keys() == RECORDED
    assert leftovers(tmp_path / "recorded") == []


def test_a_finished_cell_is_run_again_for_its_recording_and_stays_as_it_is(tmp_path):
    swept(tmp_path)
    before = {path: path.read_bytes() for path in (tmp_path / "runs").glob("*/*")}
    swept(tmp_path, RECORDED)
    assert {path: path.read_bytes() for path in (tmp_path / "runs").glob("*/*")} == before
    assert recordings(tmp_path).keys() == RECORDED
    assert swept(tmp_path, RECORDED) == []
    assert completions(tmp_path) == {spec.id: 1 + (spec.id in RECORDED) for spec in CELLS}


def test_a_cell_with_a_snapshot_starts_anew_and_says_so(tmp_path):
    spec = CELLS[0]

    def stop(event):
        if event.kind == "moved" and event.step == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(spec, Work(str(tmp_path), snapshot_every=1e-9), stop)
    assert (tmp_path / "snapshots" / spec.id).exists()
    events = []
    execute(spec, Work(str(tmp_path), record=RECORDED, snapshot_every=1e-9), events.append)
    assert [event.message for event in events if event.kind == "notice"] == [
        "it starts anew and not from its snapshot, because a recording must see every step"
    ]
    assert next(event.step for event in events if event.kind == "moved") == 1
    document = json.loads(record_path(tmp_path, spec.id).read_text())
    assert [frame["step"] for frame in document["frames"]] == list(range(document["steps"]))
    assert leftovers(tmp_path) == []


def test_a_recording_that_cannot_be_written_is_told_and_costs_no_numbers(tmp_path):
    (tmp_path / "records").write_text("in the way")
    last = execute(CELLS[0], Work(str(tmp_path), record=RECORDED), lambda event: None)
    assert last.kind == "failed"
    assert "its numbers are stored, its recording is not" in last.message
    assert Store(tmp_path).has(CELLS[0].id)


def test_a_recording_of_other_numbers_than_the_stored_ones_says_so(tmp_path):
    swept(tmp_path)
    run = Store(tmp_path).read(CELLS[0].id)
    rmtree(run.folder)
    Store(tmp_path).write(replace(run, summary={**run.summary, "accuracy": 12.5}), [])
    events = []
    last = execute(CELLS[0], Work(str(tmp_path), record=RECORDED), events.append)
    (notice,) = [event.message for event in events if event.kind == "notice"]
    assert "stored run has accuracy 12.50 and stays" in notice
    assert last.accuracy == 12.5
