import json
import time

import numpy as np
import pytest
from made_store import BATCH, STEPS, made_recording
from tiny import TinyData, seeded_net

from gotta.experiment.run import loaded as module
from gotta.experiment.run.memory_film import IMAGES, Recorder, principal, record_path, thin_frames
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec


def test_frames_hold_what_the_memory_held():
    recorder, memory, tape = made_recording("fifo", capacity=6)
    document = recorder.document()
    last = document["frames"][-1]
    held = [document["samples"]["position"][row] for row in last["rows"]]
    assert sorted(held) == list(range(STEPS * BATCH - 6, STEPS * BATCH))  # the newest six
    assert sorted(held) == sorted(memory.ids.tolist())
    assert last["labels"] == memory.peek().label.tolist()
    assert [document["samples"]["truth"][row] for row in last["rows"]] == tape.label[held].tolist()
    assert len(document["frames"]) == STEPS
    assert document["classes"] == ["0 ant", "1 bee", "2 cat"]


def test_decisions_say_what_made_way_and_why():
    recorder, _, _ = made_recording("fifo", capacity=6)
    first, second = recorder.document()["frames"][:2]
    assert [d[2] for d in first["decisions"]] == ["room"] * 6 + ["replaced oldest"] * 4
    assert [d[4] for d in first["decisions"]] == [None] * 6 + [0, 1, 2, 3]
    assert [d[0] for d in second["decisions"]] == list(range(10, 20))
    assert [d[4] for d in second["decisions"]] == list(range(4, 14))


def test_a_reset_forgets_what_was_held():
    recorder, memory, _ = made_recording("fifo", capacity=6, resets=(3,))
    frame = recorder.document()["frames"][3]
    assert [d[4] for d in frame["decisions"]][:6] == [None] * 6
    assert {d[2] for d in frame["decisions"][:6]} == {"room"}
    assert len(recorder.document()["frames"][-1]["rows"]) == len(memory)


@pytest.mark.parametrize("policy", ["none", "fps", "reservoir"])
def test_every_kind_of_memory_can_be_recorded(policy):
    recorder, memory, tape = made_recording(policy)
    document = json.loads(json.dumps(recorder.document(), allow_nan=False))
    last = document["frames"][-1]
    start = 0 if policy != "none" else (STEPS - 1) * BATCH
    assert len(last["rows"]) == len(memory)
    assert all(start <= document["samples"]["position"][row] < tape.num_samples for row in last["rows"])
    if policy == "none":
        assert all(decision[4] is None for decision in last["decisions"])


def test_recordings_are_bounded():
    frames = [{"rows": list(range(10 * k, 10 * k + 10)), "step": k} for k in range(50)]
    kept = thin_frames(frames, 100)
    assert len({row for frame in kept for row in frame["rows"]}) <= 100
    assert kept[-1] is frames[-1]
    assert len(kept) > 5
    assert thin_frames(frames, IMAGES) == frames
    long, _, _ = made_recording("fifo", steps=450)
    document = long.document()
    assert len(document["frames"]) < 450
    assert f"{len(document['frames'])} of 450 steps" in document["note"]
    assert len(document["samples"]["position"]) <= IMAGES
    assert len(json.dumps(document)) < 2_000_000


def test_principal_components_find_the_plane():
    rng = np.random.default_rng(0)
    plane = rng.normal(size=(40, 2)) * [5, 2]
    turned = plane @ np.linalg.qr(rng.normal(size=(7, 2)))[0].T
    places, explained = principal(turned)
    assert explained == pytest.approx(1)
    distances = [np.linalg.norm(points[:, None] - points[None], axis=2) for points in (plane, places)]
    np.testing.assert_allclose(*distances, atol=1e-9)
    flat, none = principal(np.zeros((3, 1)))
    assert flat.shape == (3, 2)
    assert none == 0


def test_where_a_recording_lies(tmp_path):
    recorder, _, _ = made_recording()
    assert record_path(tmp_path, "abc") == tmp_path / "records" / "abc.json"
    assert json.loads(recorder.text())["format"] == 1


@pytest.fixture
def recorded(monkeypatch):
    """The recording of a real run on the tiny network."""
    data, net = TinyData(per_class=15), seeded_net(classes=3)
    net.num_classes = 3
    monkeypatch.setattr(module, "share_dataset", lambda name: data)
    monkeypatch.setattr(module, "share_model", lambda model, num_classes: net)

    def of(method="norm", memory="fps", clock="none", **settings):
        given = {"method": {"name": method}, "memory": {"name": memory, "capacity": 6}, **settings}
        stream, regime = {"domains": ["dark", "bright"]}, {"batch_size": 8, "clock": clock}
        recorder = Recorder()
        steps, summary = run(RunSpec.of({**given, "stream": stream, "regime": regime}), recorder=recorder)
        return recorder.document(), steps, summary

    return of


def decisions_of(document):
    return [decision for frame in document["frames"] for decision in frame["decisions"]]


def test_a_memory_by_true_labels_says_why_and_that_it_was_told_the_truth(recorded):
    document, _, summary = recorded(control="true_kcenter")
    assert document["true_labels"]
    reasons = [decision[2] for decision in decisions_of(document)]
    counted = {name: n for name, n in summary["decisions"].items() if name not in ("stored", "rejected", "evicted")}
    assert {name: reasons.count(name) for name in set(reasons)} == counted
    assert len(counted) >= 2
    truth = document["samples"]["truth"]
    assert all([truth[row] for row in frame["rows"]] == frame["labels"] for frame in document["frames"])


@pytest.mark.parametrize(("control", "decides"), [(None, True), ("running_statistics", False), ("same_samples", False)])
def test_without_a_memory_nothing_is_decided(recorded, control, decides):
    document, _, _ = recorded(control=control)
    assert document["decides"] is decides
    assert document["true_labels"] is False
    assert all(frame["rows"] for frame in document["frames"])


def test_samples_that_never_came_before_the_memory_are_told_apart(recorded):
    document, steps, _ = recorded("sar", clock="analytic")
    missed = [step["step"] for step in steps if step["missed"]]
    assert missed
    for frame in document["frames"]:
        assert ({d[2] for d in frame["decisions"]} == {"missed"}) is (frame["step"] in missed)
        assert all(d[0] // 8 == frame["step"] for d in frame["decisions"])


def test_looking_on_costs_a_run_no_seconds(recorded, monkeypatch):
    monkeypatch.setattr(Recorder, "_keep", lambda *given: time.sleep(0.1))
    monkeypatch.setattr(Recorder, "document", lambda self: {})
    _, steps, summary = recorded()
    assert summary["seconds"] < 0.1 * len(steps)
