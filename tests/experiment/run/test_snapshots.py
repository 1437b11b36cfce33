"""A cell that is interrupted and taken over gives what it would have given, bit for bit."""

import contextlib
import json
import random
from zlib import crc32

import pytest
from experiment.tiny_sweep import use_tiny
from whole_state import QUICK

from gotta import list_memories, list_methods
from gotta.experiment.run import snapshots as snapshots_module
from gotta.experiment.run.run import run
from gotta.experiment.run.snapshots import Snapshots
from gotta.experiment.spec.run_spec import RunSpec
from gotta.json_yaml import plain

thorough = pytest.mark.thorough  # all but one, which every check between two edits runs

STREAM = {"domains": ["dark", "bright"], "order": "dirichlet", "gamma": 0.1}
MEMORIES = [name for name in list_memories() if name != "composed"]


class Interrupted(Exception):
    pass


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    use_tiny(monkeypatch)


def spec(method="rotta", memory="cstu", reset="never", control=None, guard=None, clock="none", pace=1.0, **settings):
    return RunSpec.of(
        {
            "method": {"name": method, **QUICK.get(method, {}), **settings},
            "model": {"name": "vit-mini" if method == "foa" else "resnet20"},
            "memory": {"name": memory, "capacity": 6},
            "stream": STREAM,
            "regime": {"reset": reset, "batch_size": 8, "clock": clock, "pace": pace},
            "control": control,
            "guard": guard,
            "seed": 3,
        }
    )


def untimed(value):
    """Everything but seconds and megabytes, as it would be stored."""
    if isinstance(value, dict):
        return {
            k: untimed(v) for k, v in value.items() if k not in ("seconds", "cpu_seconds", "peak_mb", "peak_cuda_mb")
        }
    return [untimed(item) for item in value] if isinstance(value, list) else value


def text(result):
    return json.dumps(untimed(plain(list(result))))


def interrupted(spec, folder, stops):
    """The run as one after another is killed at these steps and the next one goes on from the last snapshot."""
    firsts, notices = [], []
    for stop in [*stops, None]:
        heard = []

        def report(step, steps, accuracy, heard=heard, stop=stop):
            heard.append(step)
            if step == stop:
                raise Interrupted

        with contextlib.suppress(Interrupted):
            result = run(spec, report, snapshots=Snapshots(folder, 0.0, notices.append))
        firsts.append(heard[0])
    return result, firsts, notices


def check(spec, tmp_path):
    expected = run(spec)
    steps = len(expected[0])
    assert steps >= 10
    rng = random.Random(crc32(spec.label.encode()))
    stops = sorted(rng.sample(range(2, steps), 2))
    result, firsts, notices = interrupted(spec, tmp_path / "snapshot", stops)
    assert firsts == [1, *stops]  # nothing was done twice but the step that was not kept
    assert notices == []
    assert text(result) == text(expected)


@thorough
@pytest.mark.parametrize("method", list_methods())
def test_every_method_with_a_memory_goes_on_bit_for_bit(tmp_path, method):
    check(spec(method, "fpsd"), tmp_path)


@thorough
@pytest.mark.parametrize("method", list_methods())
def test_every_method_without_a_memory_goes_on_bit_for_bit(tmp_path, method):
    check(spec(method, "none"), tmp_path)


@pytest.mark.parametrize("memory", [pytest.param(name, marks=() if name == "pbrs" else thorough) for name in MEMORIES])
def test_every_memory_goes_on_bit_for_bit(tmp_path, memory):
    check(spec("tent", memory), tmp_path)


@thorough
@pytest.mark.parametrize("control", ["running_statistics", "same_samples", "true_kcenter"])
def test_controls_go_on_bit_for_bit(tmp_path, control):
    check(spec("norm", "fps", control=control), tmp_path)


@thorough
@pytest.mark.parametrize("reset", ["each_domain", "each_batch"])
def test_resets_stay_where_they_were(tmp_path, reset):
    check(spec("note", "pbrs", reset=reset), tmp_path)


@thorough
def test_logits_as_embeddings_go_on_bit_for_bit(tmp_path):
    check(spec("rotta", "cds", embedding="logits"), tmp_path)


@thorough
@pytest.mark.parametrize("guard", ["freeze", "rollback"])
def test_a_guard_goes_on_watching(tmp_path, guard):
    check(spec("tent", "fps", guard=guard), tmp_path)


@thorough
@pytest.mark.parametrize("reset", ["never", "each_domain"])
def test_a_stream_that_does_not_wait_goes_on_without_waiting(tmp_path, reset):
    made = spec("sar", "fps", reset=reset, clock="analytic")
    assert run(made)[1]["missed"] > 0
    check(made, tmp_path)


def damaged(tmp_path, harm):
    folder = tmp_path / "snapshot"
    with pytest.raises(Interrupted):
        run(spec(), lambda step, *_: stop_at(step, 6), snapshots=Snapshots(folder, 0.0))
    harm(folder)
    notices = []
    result = run(spec(), snapshots=Snapshots(folder, 0.0, notices.append))
    assert text(result) == text(run(spec()))
    return notices


def stop_at(step, last):
    if step == last:
        raise Interrupted


@thorough
@pytest.mark.parametrize("name", ["state.json", "tensors-*"])
def test_a_cut_snapshot_is_ignored_with_a_notice(tmp_path, name):
    def cut(folder):
        path = next(folder.glob(name))
        path.write_bytes(path.read_bytes()[:-20])

    notices = damaged(tmp_path, cut)
    assert len(notices) == 1
    assert "starts anew" in notices[0]


@thorough
def test_scores_that_do_not_fit_are_ignored_with_a_notice(tmp_path, monkeypatch):
    def misfit(folder):
        path = folder / "state.json"
        path.write_text(path.read_text().replace('"nonfinite"', '"other"'))

    assert "starts anew" in damaged(tmp_path, misfit)[0]


@thorough
def test_a_snapshot_of_another_version_is_not_continued(tmp_path, monkeypatch):
    def upgrade(folder):
        now = snapshots_module.environment()
        monkeypatch.setattr(snapshots_module, "environment", lambda: {**now, "torch": "99.0"})

    assert "another torch" in damaged(tmp_path, upgrade)[0]


@thorough
def test_a_disk_that_refuses_snapshots_costs_no_cell(tmp_path):
    (tmp_path / "file").write_text("")
    notices = []
    result = run(spec(), snapshots=Snapshots(tmp_path / "file" / "snapshot", 0.0, notices.append))
    assert text(result) == text(run(spec()))
    assert len(notices) == 1
    assert "no snapshots from here on" in notices[0]
