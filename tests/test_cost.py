import json

import pytest

import gotta.cost as module
from gotta.cost import Cost
from gotta.errors import GottaError


@pytest.fixture
def clock(monkeypatch):
    """A clock that moves only when told to."""
    now = [100.0]
    monkeypatch.setattr(module, "perf_counter", lambda: now[0])
    return now


def test_time_between_phases_is_nobodys(clock):
    cost = Cost()
    clock[0] += 5
    with cost.phase("predict"):
        clock[0] += 2
    clock[0] += 7
    with cost.phase("adapt"):
        clock[0] += 3
    summary = cost.summary()
    assert summary["predict"]["seconds"] == 2
    assert summary["adapt"]["seconds"] == 3
    assert summary["observe"]["seconds"] == 0
    assert summary["total"]["seconds"] == 5


def test_a_nested_phase_takes_its_own_time_and_counts(clock):
    cost = Cost()
    with cost.phase("adapt"):
        clock[0] += 1
        cost.count(forwards=1, samples=32)
        with cost.phase("refresh"):
            clock[0] += 10
            cost.count(forwards=2, samples=64)
        clock[0] += 4
        cost.count(backwards=1)
    summary = cost.summary()
    assert summary["adapt"] == {"seconds": 5, "forwards": 1, "backwards": 1, "samples": 32}
    assert summary["refresh"] == {"seconds": 10, "forwards": 2, "backwards": 0, "samples": 64}
    assert summary["total"] == {"seconds": 15, "forwards": 3, "backwards": 1, "samples": 96}


def test_take_returns_what_is_new_and_leaves_the_summary(clock):
    cost = Cost()
    with cost.phase("predict"):
        clock[0] += 1
        cost.count(forwards=1)
    assert cost.take() == {"predict": {"seconds": 1, "forwards": 1, "backwards": 0, "samples": 0}}
    assert cost.take() == {}
    with cost.phase("predict"):
        clock[0] += 2
        assert cost.take()["predict"]["seconds"] == 2  # an open phase is charged up to now
        clock[0] += 3
    assert cost.summary()["predict"]["seconds"] == 6
    assert cost.take()["predict"]["seconds"] == 3
    assert cost.summary()["predict"]["seconds"] == 6


def test_a_phase_that_fails_is_closed(clock):
    cost = Cost()

    def fail():
        with cost.phase("observe"):
            clock[0] += 1
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    clock[0] += 9
    cost.count(forwards=1)
    summary = cost.summary()
    assert summary["observe"]["seconds"] == 1
    assert summary["observe"]["forwards"] == 0
    assert summary["other"]["forwards"] == 1


def test_real_time_is_measured():
    cost = Cost()
    with cost.phase("predict"):
        sum(range(100_000))
    assert 0 < cost.summary()["predict"]["seconds"] < 10


def test_peak_memory_is_that_of_a_python_process_and_json_ready():
    summary = Cost().summary()
    assert 5 < summary["peak_mb"] < 1_000_000
    assert summary["peak_cuda_mb"] is None or summary["peak_cuda_mb"] >= 0
    json.dumps(summary, allow_nan=False)


def test_unknown_phases_are_named():
    with pytest.raises(GottaError, match="Did you mean 'predict'"), Cost().phase("predikt"):
        pass
