import importlib
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from serve import fake_meters

import gotta
from gotta import GottaError
from gotta.core.undo import UndoneWarning
from gotta.experiment.sweep import leases as leases_module
from gotta.serve.meters import Meters
from gotta.serve.one_stream import OneStream
from gotta.serve.owned_streams import StreamStore
from gotta.serve.predictor import Predictor
from gotta.serve.settings import Settings

HERE = str(Path(__file__).parent)


@pytest.fixture(params=["build", "build_trained"])
def start(request, tmp_path, monkeypatch):
    """Makes replicas of one service: with one network for all streams, and with one for each."""
    monkeypatch.syspath_prepend(HERE)
    started = []

    def start(save_every=None, model=f"served_models:{request.param}"):
        """One that saves by itself only if it is told how often."""
        store = StreamStore(tmp_path, beat=3600)
        settings = Settings(model, tmp_path, save_every=save_every or 3600.0)
        started.append(Predictor(settings, store, Meters(fake_meters)))
        if save_every is None:
            started[-1].stopping.set()
        return started[-1]

    start.build = lambda: getattr(importlib.import_module("served_models"), request.param)()
    yield start
    for predictor in started:
        predictor.stopping.set()
    sys.modules.pop("served_models", None)


def samples(seed, size=4, shape=(3, 8, 8)):
    return np.random.default_rng(seed).random((size, *shape), np.float32)


def fail_over(predictor, stream, other, patch):
    """The replica is thought dead, and another one opens the stream."""
    with patch.context() as inside:
        inside.setattr(leases_module, "is_alive_here", lambda holder: False)
        return other.open(stream)


def seen(owned):
    """Samples that a model has been offered of a stream."""
    if isinstance(owned.model, OneStream):
        return owned.model._held.counters["offered"]
    return owned.model.offered


def test_each_stream_has_a_model_of_its_own_and_answers_as_one_would(start):
    predictor = start()
    a, b = predictor.open("a"), predictor.open("b")
    alone = {name: start.build() for name in "ab"}
    for seed in range(0, 6, 2):
        xa, xb = samples(seed), samples(seed + 1)
        answers = predictor.predict([(a, xa), (b, xb)])
        for answer, name, x in zip(answers, "ab", (xa, xb), strict=True):
            expected = alone[name].step(torch.from_numpy(x)).prediction.probs.max(1)
            assert answer["labels"] == expected.indices.tolist()
            assert answer["confidence"] == pytest.approx(expected.values.tolist())


def test_requests_of_one_stream_are_one_batch(start):
    predictor = start()
    a = predictor.open("a")
    first, second = predictor.predict([(a, samples(0, 3)), (a, samples(1, 2))])
    together = start.build().step(torch.from_numpy(np.concatenate([samples(0, 3), samples(1, 2)])))
    assert first["labels"] + second["labels"] == together.prediction.label.tolist()
    assert first["ids"] + second["ids"] == [f"a/1/{number}" for number in range(5)]


def test_one_bad_request_harms_no_other(start):
    predictor = start()
    a, b = predictor.open("a"), predictor.open("b")
    bad = samples(0)
    bad[0, 0, 0, 0] = np.nan
    odd = samples(0, shape=(1, 8, 8))
    answers = predictor.predict([(a, samples(0)), (a, bad), (b, samples(1)), (a, odd), (b, samples(2))])
    assert ["labels" in answer for answer in answers] == [True, False, True, False, True]
    assert [answer.get("status") for answer in answers] == [None, 400, None, 400, None]


def test_another_replica_goes_on_from_what_was_saved(start, monkeypatch):
    first, second = start(), start()
    a = first.open("a")
    with pytest.raises(GottaError, match="held by another replica"):
        second.open("a")
    first.predict([(a, samples(0))])
    first.close(a)
    again = second.open("a")
    alone = start.build()
    alone(torch.from_numpy(samples(0)))
    (answer,) = second.predict([(again, samples(1))])
    expected = alone.step(torch.from_numpy(samples(1))).prediction
    assert answer["labels"] == expected.label.tolist()
    assert answer["confidence"] == pytest.approx(expected.probs.amax(1).tolist())


def test_a_kill_loses_what_was_not_saved_and_no_more(start, monkeypatch):
    first, second = start(), start()
    a = first.open("a")
    first.predict([(a, samples(0))])
    first._save_due()
    assert a.changed is not None, "not due yet"
    first.save_every = 0.0
    first._save_due()
    assert a.changed is None
    first.predict([(a, samples(1))])
    again = fail_over(first, "a", second, monkeypatch)
    assert (seen(again), again.samples) == (4, 4)


def test_a_stale_owner_neither_predicts_nor_saves(start, monkeypatch):
    first, second = start(), start()
    a = first.open("a")
    first.predict([(a, samples(0))])
    new = fail_over(first, "a", second, monkeypatch)
    second.predict([(new, samples(5))])
    a.lease.check()  # as the next heartbeat does
    assert first.predict([(a, samples(1))])[0]["status"] == 503
    first.save_every = 0.0
    first._save_due()
    assert "a" not in first.owned
    for change in (("snapshot", a), ("reset", a), ("rollback", a, 1)):
        with pytest.raises(GottaError, match="newer owner"):
            first.do(*change)
    second.close(new)
    assert seen(second.open("a")) == 4, "of the new owner alone"


def test_saves_come_in_time_by_themselves(start):
    predictor = start(save_every=0.2)
    a = predictor.open("a")
    predictor.predict([(a, samples(0))])
    deadline = time.monotonic() + 20
    while a.changed is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list((predictor.store.root / "streams" / "a" / "states" / "000001").iterdir())
    predictor.check_health()


def test_a_full_disk_stops_no_prediction_and_no_saving_later(start, monkeypatch):
    predictor = start()
    predictor.save_every = 0.0
    a = predictor.open("a")
    predictor.predict([(a, samples(0))])

    def full(lease, model, samples):
        raise GottaError("no room")

    with monkeypatch.context() as inside:
        inside.setattr(predictor.store, "save", full)
        predictor._save_due()
        assert a.changed is not None
    assert "labels" in predictor.predict([(a, samples(1))])[0]
    predictor._save_due()
    assert a.changed is None


def test_rolling_back_and_resetting(start):
    predictor = start()
    a = predictor.open("a")
    predictor.predict([(a, samples(0))])
    assert predictor.do("snapshot", a) == {"snapshot": 1}
    predictor.predict([(a, samples(1))])
    predictor.do("rollback", a, 1)
    assert seen(a) == 4
    predictor.do("reset", a)
    assert seen(a) == 0
    predictor.close(a)
    assert seen(predictor.open("a")) == 0
    assert predictor.report(predictor.owned["a"])["snapshots"] == [1]


def test_what_is_shown(start):
    predictor = start()
    a = predictor.open("a")
    bad = samples(0)
    predictor.predict([(a, bad)])
    with pytest.warns(UndoneWarning):
        predictor.predict([(a, bad * 1e7)])
    predictor._show()
    noted = {name: meter.noted for name, meter in predictor.meters.by_name.items()}
    assert noted["gotta_streams"][-1] == (1, {})
    assert noted["gotta_undone_steps"] == [(1.0, {})]
    assert noted["gotta_unsaved_seconds"][-1][0] > 0
    assert sum(count for count, _ in noted["gotta_samples"]) == 8
    if predictor.shares:
        assert 0 <= noted["gotta_stickiness"][-1][0] <= 1
    else:
        assert noted["gotta_memory_occupancy"][-1][0] == 0.5


def test_a_network_is_adapted_with_the_defaults(start):
    assert isinstance(start(model="served_models:build_network").source, gotta.Adapted)


def test_a_dead_keeper_is_not_healthy(start):
    predictor = start(save_every=0.01)
    predictor.stopping.set()
    predictor.keeper.join(10)
    with pytest.raises(RuntimeError, match="nobody saves"):
        predictor.check_health()


def test_a_shadow_answers_as_the_source_until_it_is_promoted(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(HERE)
    store = StreamStore(tmp_path, beat=3600)
    settings = Settings("served_models:build_network", tmp_path, save_every=3600.0, shadow=True)
    replicas = [Predictor(settings, store, Meters(fake_meters)) for _ in range(2)]
    predictor = replicas[0]
    for replica in replicas:
        replica.stopping.set()
    a = predictor.open("a")
    assert predictor.mode == "shadow"
    (answer,) = predictor.predict([(a, samples(0))])
    source = importlib.import_module("served_models").build_network()(torch.from_numpy(samples(0))).argmax(1)
    assert answer["labels"] == source.tolist()
    assert predictor.feedback(a, answer["ids"], answer["labels"]) == {"counted": 4}
    with pytest.raises(GottaError, match="no sample waits"):
        predictor.feedback(a, ["a/1/99"], [0])
    told = predictor.report(a)["shadow"]
    assert (told["samples"], told["labelled"], told["accuracy_source"], told["live"]) == (4, 4, 1.0, False)
    predictor._show()
    assert 0 <= predictor.meters.by_name["gotta_agreement"].noted[-1][0] <= 1
    predictor.set_mode("live")
    replicas[1].mode = replicas[1]._read_mode()
    predictor.close(a)
    again = replicas[1].open("a")
    told = replicas[1].report(again)["shadow"]
    assert (told["live"], told["labelled"]) == (True, 4), "another replica follows, and goes on counting"
    replicas[1].set_mode("shadow")
    sys.modules.pop("served_models", None)


def test_without_a_shadow_there_is_nothing_to_promote(start):
    predictor = start()
    with pytest.raises(GottaError, match="Start it with --shadow"):
        predictor.set_mode("live")
    with pytest.raises(GottaError, match="Start it with --shadow"):
        predictor.feedback(predictor.open("a"), ["a/1/0"], [0])


def test_batches_that_a_full_queue_drops_are_counted(start):
    predictor = start()
    a = predictor.open("a")
    for dropped in (0.0, 1.0, 1.0, 3.0):
        predictor._measure(a, {"dropped": dropped})
    noted = predictor.meters.by_name["gotta_drops"].noted
    assert noted == [(1.0, {"reason": "background"}), (2.0, {"reason": "background"})]
