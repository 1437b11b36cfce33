"""Published behaviour: contents, ages and events of the authors' own memories, recorded in tests/golden/memory."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gotta.memory import Memory

GOLDEN = Path(__file__).parents[1] / "golden" / "memory"


def files(pattern: str, expected: int) -> list[Any]:
    found = sorted(GOLDEN.glob(pattern))
    assert len(found) == expected, f"{len(found)} golden files {pattern}, expected {expected}"
    return [pytest.param(path, id=path.stem) for path in found]


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


class Recorded:
    """A generator that gives recorded draws instead of random ones."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self.sample = 0
        self.pending: list[int] = []

    def at(self, sample: int, classes: list[int] | None = None) -> None:
        assert not self.pending, "a recorded draw was not used"
        self.sample = sample
        victim = self.data["victim_index"][sample]
        chosen = self.data["victim_class"][sample] if classes is not None else None
        self.pending = [] if victim is None else [victim]
        if chosen is not None and classes is not None:
            self.pending.insert(0, classes.index(chosen))

    def random(self) -> float:
        u: float = self.data["u"][self.sample]
        assert u is not None, "a draw that the authors did not make"
        return u

    def integers(self, below: int) -> int:
        value = self.pending.pop(0)
        assert 0 <= value < below
        return value


class PythonRandom:
    """The authors' generator: Python's own, seeded as theirs was."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def random(self) -> float:
        return self._random.uniform(0, 1)

    def integers(self, below: int) -> int:
        return self._random.randrange(0, below)


@pytest.mark.parametrize("path", files("reservoir_M*.json", 3) + files("pbrs_C*.json", 10))
def test_equals_note_with_its_generator(path: Path) -> None:
    data = load(path)
    memory = Memory(
        data["policy"].lower(),
        data["capacity"],
        data.get("num_classes", 1),
        rng=PythonRandom(data["python_random_seed"]),
    )
    offered = 0
    for snapshot in data["snapshots"]:
        ids = np.arange(offered, snapshot["after"])
        memory.observe(ids, label=None if "labels" not in data else np.array(data["labels"])[ids])
        offered = snapshot["after"]
        assert memory.batch().x.tolist() == snapshot["ids"]


@pytest.mark.parametrize("path", files("cstu_*.json", 19))
def test_cstu_equals_rotta(path: Path) -> None:
    compare_cstu(load(path), size=64)


def test_cstu_equals_rotta_sample_by_sample() -> None:
    compare_cstu(load(GOLDEN / "cstu_C10_M64_bursty.json"), size=1)


def compare_cstu(data: dict[str, Any], size: int) -> None:
    weights = {name: data[name] for name in ("lambda_t", "lambda_u")}
    memory = Memory("cstu", data["capacity"], data["num_classes"], journal=True, **weights)
    labels, uncertainty = np.array(data["labels"]), np.array(data["uncertainty"])
    snapshots = {snapshot["after"]: snapshot for snapshot in data["snapshots"]}
    compared = 0
    for start in range(0, len(labels), size):
        part = slice(start, min(start + size, len(labels)))
        ids = np.arange(part.start, part.stop)
        memory.observe(ids, label=labels[part], uncertainty=uncertainty[part])
        snapshot = snapshots.get(part.stop)
        if snapshot is not None:
            batch = memory.batch()
            assert batch.x.tolist() == snapshot["ids"]
            assert batch.age.tolist() == snapshot["ages"]
            assert batch.uncertainty.tolist() == uncertainty[snapshot["ids"]].tolist()
            compared += 1
    assert compared == len(snapshots)
    assert memory.journal is not None
    slot, evicted = memory.journal.column("slot"), memory.journal.column("evicted")
    assert np.where(slot < 0, -2, evicted).tolist() == data["events"]


@pytest.mark.parametrize("path", files("fifo_*.json", 3))
def test_fifo_equals_note(path: Path) -> None:
    data = load(path)
    memory = Memory("fifo", data["capacity"], 1)
    offered = 0
    for snapshot in data["snapshots"]:
        memory.observe(np.arange(offered, snapshot["after"]))
        offered = snapshot["after"]
        batch = memory.batch()
        assert batch.x.tolist() == snapshot["ids"]
        assert batch.age.tolist() == [offered - i for i in snapshot["ids"]]
    assert offered == data["num_samples"]


@pytest.mark.parametrize("path", files("reservoir_M*.json", 3))
def test_reservoir_equals_note_draw_for_draw(path: Path) -> None:
    data = load(path)
    draws = Recorded(data)
    memory = Memory("reservoir", data["capacity"], 1, rng=draws)
    snapshots = {snapshot["after"]: snapshot["ids"] for snapshot in data["snapshots"]}
    for sample in range(data["num_samples"]):
        draws.at(sample)
        memory.observe([sample])
        if sample + 1 in snapshots:
            assert memory.batch().x.tolist() == snapshots[sample + 1]
    assert not draws.pending


@pytest.mark.parametrize("path", files("pbrs_C*.json", 10))
def test_pbrs_equals_note_draw_for_draw(path: Path) -> None:
    data = load(path)
    draws = Recorded(data)
    memory = Memory("pbrs", data["capacity"], data["num_classes"], rng=draws)
    snapshots = {snapshot["after"]: snapshot for snapshot in data["snapshots"]}
    for sample, label in enumerate(data["labels"]):
        draws.at(sample, memory._table.largest())
        memory.observe([sample], label=[label])
        if sample + 1 in snapshots:
            batch = memory.batch()
            assert batch.x.tolist() == snapshots[sample + 1]["ids"]
            assert batch.label.tolist() == snapshots[sample + 1]["labels"]
    assert not draws.pending
    assert memory.state_dict()["seen"][:-1].tolist() == data["final_counters"]


def allowed(p: np.ndarray, runs: int) -> np.ndarray:
    """The tolerance stated with the recorded frequencies."""
    return 5 * np.sqrt(np.maximum(p * (1 - p), 0.001) * (1 / 20000 + 1 / runs))


def contents(policy: str, data: dict[str, Any], runs: int) -> np.ndarray:
    """stored[runs, samples]: what each of many independent memories holds at the end."""
    labels = np.array(data.get("labels", [0] * len(data["inclusion_frequency"])))
    stored = np.zeros((runs, len(labels)), bool)
    memory = Memory(policy, data["capacity"], data.get("num_classes", 1))
    for run in range(runs):
        memory.reset()
        memory._rng.bit_generator.state = np.random.default_rng([7, run]).bit_generator.state
        memory.observe(np.arange(len(labels)), label=labels)
        stored[run, memory.ids] = True
    return stored


@pytest.mark.slow
@pytest.mark.parametrize("path", files("reservoir_stats_*.json", 2) + files("pbrs_stats_*.json", 3))
def test_statistics_equal_note(path: Path) -> None:
    compare_statistics(load(path), runs=2000)


@pytest.mark.parametrize("path", files("reservoir_stats_*.json", 2) + files("pbrs_stats_*.json", 3))
def test_statistics_equal_note_roughly(path: Path) -> None:
    compare_statistics(load(path), runs=300)


def compare_statistics(data: dict[str, Any], runs: int) -> None:
    stored = contents(data["policy"].lower(), data, runs)
    expected = np.array(data["inclusion_frequency"])
    assert (np.abs(stored.mean(0) - expected) <= allowed(expected, runs)).all()
    if "labels" in data:
        one_hot = np.eye(data["num_classes"])[data["labels"]]
        histogram = (stored @ one_hot).mean(0)
        assert np.abs(histogram - data["mean_class_histogram"]).max() <= 0.03 * np.sqrt(max(1.0, 5000 / runs)) * 1.5
        shares = {tuple(h): share for h, share in data["final_histograms"]}
        found = [tuple(h) for h in (stored @ one_hot).astype(int).tolist()]
        for histogram_of_run, share in shares.items():
            frequency = found.count(histogram_of_run) / runs
            assert abs(frequency - share) <= allowed(np.array(share), runs)
