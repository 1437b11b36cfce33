import json
import shutil

import pytest

from gotta import GottaError
from gotta.experiment.run.run import run
from gotta.experiment.run.step_costs import latency, make_clock, recording
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Work, execute
from gotta.experiment.sweep.store import Store

SMALL = {"per_class": 4, "domains": ["snow"]}


def spec(method="tent", **regime):
    given = {"method": {"name": method}, "memory": {"name": "fifo", "capacity": 8}, "stream": SMALL}
    return RunSpec.of({**given, "regime": {"clock": "measured", "batch_size": 8, **regime}})


def never():
    raise AssertionError("measured again")


def missed(store, made):
    return [step["missed"] for step in store.read(made.id).steps()]


def test_measured_costs_are_recorded_once_and_replayed(tmp_path):
    store, made = Store(tmp_path, writable=True), spec(pace=0.5)
    assert execute(made, Work(str(tmp_path)), lambda event: None).kind == "finished"
    first, kept = store.read(made.id), recording(tmp_path, made).read_bytes()
    pattern = missed(store, made)
    assert any(pattern)
    assert first.summary["missed"] == sum(pattern)
    shutil.rmtree(store.folder / made.id)
    execute(made, Work(str(tmp_path)), lambda event: None)
    again = store.read(made.id)
    assert recording(tmp_path, made).read_bytes() == kept
    assert missed(store, made) == pattern
    assert again.summary["online"] == first.summary["online"]


@pytest.mark.parametrize(("step", "steps"), [(1.0, [0, 1, 2, 3, 4]), (3.0, [0, 3]), (5.0, [0])])
def test_the_recording_decides_what_is_missed(tmp_path, step, steps):
    made = spec()
    path = recording(tmp_path, made)
    path.parent.mkdir()
    path.write_text(json.dumps({"step": step, "forward": 1.0}))
    found, summary = run(made, recording=path)
    assert [k["step"] for k in found if not k["missed"]] == steps
    assert summary["adaptations"] == len(steps)


def test_a_model_that_only_predicts_misses_nothing(tmp_path):
    made = RunSpec.of({"stream": SMALL, "regime": {"clock": "measured", "batch_size": 8}})
    assert run(made, recording=tmp_path / "c.json")[1]["missed"] == 0
    costs = json.loads((tmp_path / "c.json").read_text())
    assert costs["step"] == costs["forward"] > 0


def test_analytic_runs_repeat():
    made = spec(clock="analytic", pace=2)
    (first, one), (second, two) = run(made), run(made)
    assert [k["missed"] for k in first] == [k["missed"] for k in second] == [False, True, False, True, False]
    assert one["online"] == two["online"]


@pytest.mark.parametrize("text", ["", "{}", '{"step": 0, "forward": 1}', '{"step": "x", "forward": 1}'])
def test_a_damaged_recording_is_one_error(tmp_path, text):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(GottaError, match="Delete it to measure again"):
        make_clock(spec(), path, never)


def test_settings_of_the_clock():
    assert spec().regime.pace == 1.0
    assert RunSpec.of({"regime": {"pace": 3}}).regime.pace is None, "nothing is paced by a stream that waits"
    with pytest.raises(GottaError, match="pace=0"):
        spec(pace=0)
    with pytest.raises(GottaError, match="Did you mean 'measured'"):
        spec(clock="mesured")


def test_latency_is_by_rank_and_leaves_out_the_first_step():
    steps = [{"cost": {"predict": {"seconds": 9.0}}}]
    steps += [{"cost": {"predict": {"seconds": k}, "adapt": {"seconds": 100.0}}} for k in range(1, 201)]
    assert latency(steps) == {"answer": (100, 198), "step": (200.0, 298.0)}
