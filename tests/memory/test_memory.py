"""The memory itself: what it takes, gives, refuses, moves and saves."""

import copy
import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from memory.streams import predictions
from torch import Tensor
from torch.overrides import TorchFunctionMode

from gotta.errors import GottaError
from gotta.memory import Candidate, Decision, Memory, Policy, Table, intake, policies
from gotta.types import Prediction


def batch_of(size: int, num_classes: int = 4, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {"x": rng.normal(size=(size, 3, 2, 2)).astype(np.float32), **predictions(rng, size, num_classes, False)}


def content(memory: Memory) -> list[Any]:
    batch = memory.peek()
    return [getattr(batch, name).tolist() for name in ("x", "label", "uncertainty", "embedding", "age")]


def test_order_is_class_then_insertion() -> None:
    memory = Memory("fifo", capacity=4, num_classes=3)
    memory.observe([10, 11, 12, 13], label=[2, 0, 2, 1])
    memory.observe([14], label=[0])
    batch = memory.batch()
    assert batch.x.tolist() == [11, 14, 13, 12]
    assert batch.label.tolist() == [0, 0, 1, 2]
    assert batch.age.tolist() == [4, 1, 2, 3]
    assert memory.slots.tolist() == [1, 0, 3, 2]
    assert memory.ids.tolist() == [1, 4, 3, 2]


def test_none_holds_the_current_batch() -> None:
    memory = Memory("none", num_classes=3)
    assert len(memory.batch()) == 0
    for size in (5, 2):
        slots = memory.observe(np.arange(size), label=np.arange(size)[::-1] % 3)
        assert slots.tolist() == memory.slots.tolist() == list(range(size))
        assert memory.batch().x.tolist() == list(range(size))
        assert memory.batch().age.tolist() == [0] * size
    assert memory.ids.tolist() == [5, 6]
    assert Memory("none", capacity=64, num_classes=3).capacity == 64


@pytest.mark.parametrize("name", policies.names())
def test_torch_and_numpy_alike(name: str) -> None:
    part = batch_of(40)
    by_numpy, by_torch, by_list = (Memory(name, 8, 4) for _ in range(3))
    slots = by_numpy.observe(**part)
    tensors = {key: torch.from_numpy(value).requires_grad_(key == "x") for key, value in part.items()}
    assert by_torch.observe(**tensors).tolist() == slots.tolist()
    by_list.observe(**{key: value.tolist() for key, value in part.items()})
    assert content(by_numpy) == content(by_torch)
    assert by_list.ids.tolist() == by_torch.ids.tolist()
    assert not by_torch.batch().x.requires_grad


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float16, torch.bfloat16, torch.float64, torch.bool])
@pytest.mark.parametrize("shape", [(), (5,), (3, 4, 4)])
def test_any_sample_shape_and_dtype(dtype: torch.dtype, shape: tuple[int, ...]) -> None:
    x = torch.arange(3 * int(np.prod(shape))).reshape(3, *shape).to(dtype)
    memory = Memory("fifo", 2, 1)
    memory.observe(x)
    assert memory.batch().x.dtype == dtype
    assert torch.equal(memory.batch().x, x[1:])


def test_uncertainty_is_not_rounded() -> None:
    memory = Memory("cstu", 4, 3)
    given = [-1e-6, 0.1 + 1e-15, np.log(3)]
    memory.observe(np.arange(3), label=[0, 1, 2], uncertainty=given)
    assert memory.batch().uncertainty.tolist() == given
    assert memory.batch().uncertainty.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_embeddings_keep_their_dtype(dtype: torch.dtype) -> None:
    memory = Memory("fifo", 4, 3)
    embedding = torch.rand(3, 5, generator=torch.Generator().manual_seed(0)).to(dtype)
    memory.observe(np.arange(3), embedding=embedding)
    assert torch.equal(memory.batch().embedding, embedding)


def test_columns_that_are_not_given() -> None:
    memory = Memory("fifo", 2, 3)
    memory.observe(np.arange(3))
    batch = memory.batch()
    assert batch.label.tolist() == [-1, -1]
    assert batch.uncertainty.isnan().all()
    assert batch.embedding.shape == (2, 0)
    with pytest.raises(GottaError, match="give the same ones"):
        memory.observe(np.arange(3), label=[0, 1, 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": None}, "label is missing"),
        ({"embedding": None}, "embedding is missing"),
        ({"label": [0, 1, 4, 0]}, r"label must be in 0\.\.3 .* got 0\.\.4"),
        ({"label": [0.0, 1.0, 2.0, 0.0]}, "whole numbers"),
        ({"label": [0, 1, 2]}, r"label must have shape \[4\]"),
        ({"uncertainty": [0.0, np.nan, 0.0, 0.0]}, "uncertainty holds NaN"),
        ({"embedding": np.full((4, 4), np.inf)}, "embedding holds NaN or infinite"),
        ({"embedding": np.zeros((4, 3))}, "embeddings of 3 numbers"),
        ({"embedding": np.zeros(4)}, r"embedding must have shape \[4, D\]"),
        ({"x": np.full((4, 3, 2, 2), np.nan, np.float32)}, "x holds NaN"),
        ({"x": np.zeros((4, 3, 2, 3), np.float32)}, "do not fit a memory"),
        ({"x": np.zeros((4, 3, 2, 2), np.float64)}, "do not fit a memory"),
        ({"x": np.array(["a"] * 4)}, "must hold numbers"),
        ({"x": np.zeros((0, 3, 2, 2))}, "empty batch"),
    ],
)
def test_a_bad_batch_is_refused_whole(change: dict[str, Any], message: str) -> None:
    memory = Memory("fps", 8, 4)
    memory.observe(**batch_of(20))
    before = content(memory), memory.stats, memory.state_dict()["clock"]
    with pytest.raises(GottaError, match=message):
        memory.observe(**{**batch_of(4, seed=1), **change})
    assert (content(memory), memory.stats, memory.state_dict()["clock"]) == before


def test_large_finite_samples_are_fine() -> None:
    memory = Memory("fifo", 2, 1)
    memory.observe(np.full((2, 8), 3e38, np.float32))
    assert len(memory) == 2


@pytest.mark.parametrize("setting", [{"capacity": 0}, {"num_classes": 0}, {"capacity": 2.5}, {"refresh_every": -1}])
def test_bad_settings(setting: dict[str, Any]) -> None:
    with pytest.raises(GottaError, match=r"must be a whole number|refresh_every"):
        Memory("fifo", **{"capacity": 4, "num_classes": 2, **setting})


def test_bad_arguments() -> None:
    with pytest.raises(GottaError, match="Did you mean 'fps'"):
        Memory("fsp", 4, 2)
    with pytest.raises(GottaError, match="Did you mean 'epsilon'"):
        Memory("fps", 4, 2, epsilom=1.0)
    with pytest.raises(GottaError, match="quota 'half' is unknown"):
        Memory("fps", 4, 2, quota="half")
    with pytest.raises(GottaError, match="finished policy"):
        Memory(policies.build("fps"), 4, 2, epsilon=1.0)
    with pytest.raises(GottaError, match="place"):
        Memory(policies.get("fps"), 4, 2)


def test_policy_by_instance_and_by_path() -> None:
    part = batch_of(30)
    expected = Memory("fps", 8, 4, epsilon=0.2)
    by_instance = Memory(policies.build("fps", epsilon=0.2), 8, 4)
    by_path = Memory("gotta.memory.builtin.fps:FPS", 8, 4, epsilon=0.2)
    for memory in (expected, by_instance, by_path):
        memory.observe(**part)
    assert content(expected) == content(by_instance) == content(by_path)


class Transfers(TorchFunctionMode):
    """Counts the calls that bring values of a tensor to Python or to another device."""

    NAMES = ("cpu", "to", "item", "tolist", "__int__", "__float__", "__bool__", "cuda", "__index__")

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in self.NAMES:
            self.calls.append(name)
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("name", policies.names())
def test_one_transfer_per_batch(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With tensors that count as far away, one `cpu()` brings all numbers; the rest are moves of index arrays."""
    part = {key: torch.from_numpy(value) for key, value in batch_of(64).items()}
    expected, memory = Memory(name, 8, 4), Memory(name, 8, 4)
    expected.observe(**part)
    monkeypatch.setattr(intake, "on_host", lambda value: False)
    with Transfers() as transfers:
        memory.observe(**part)
    assert transfers.calls.count("cpu") == 1
    assert set(transfers.calls) <= {"cpu", "to"}
    assert transfers.calls.count("to") <= 3  # slots and rows to where the pixels are, and the chosen pixels
    assert content(memory) == content(expected)


def test_packed_transfer_keeps_every_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = [torch.tensor([3, -1]), torch.tensor([0.1, -1e-6], dtype=torch.float64), torch.rand(2, 3).half()]
    monkeypatch.setattr(intake, "on_host", lambda value: False)
    for value, moved in zip(tensors, intake.fetch(tensors), strict=True):
        assert np.array_equal(value.numpy(), moved)
        assert value.numpy().dtype == moved.dtype


@pytest.mark.parametrize("where", ["cpu", "file"])
def test_storage(where: str, tmp_path: Path) -> None:
    storage = "cpu" if where == "cpu" else tmp_path / "pixels.bin"
    plain, memory = Memory("pbrs", 8, 4), Memory("pbrs", 8, 4, storage=storage)
    for seed in range(3):
        plain.observe(**batch_of(20, seed=seed))
        memory.observe(**batch_of(20, seed=seed))
    assert content(plain) == content(memory)
    if where == "file":
        assert (tmp_path / "pixels.bin").stat().st_size == 8 * 12 * 4
        before = content(memory)
        memory.batch().x.zero_()
        assert content(memory) == before


def test_storage_that_cannot_be_written(tmp_path: Path) -> None:
    memory = Memory("fifo", 8, 4, storage=tmp_path / "no folder" / "pixels.bin")
    with pytest.raises(GottaError, match="storage="):
        memory.observe(**batch_of(4))
    assert len(memory) == memory.state_dict()["clock"] == 0


@pytest.mark.parametrize("name", policies.names())
def test_state_is_tensors_and_json(name: str) -> None:
    memory = Memory(name, 8, 4, seed=3)
    memory.observe(**batch_of(50))
    memory.batch()
    state = memory.state_dict()
    plain = {key: value for key, value in state.items() if not isinstance(value, Tensor)}
    again = {**state, **json.loads(json.dumps(plain))}
    other = Memory(name, 8, 4, seed=9)
    other.load_state_dict(again)
    for seed in (1, 2):
        assert memory.observe(**batch_of(50, seed=seed)).tolist() == other.observe(**batch_of(50, seed=seed)).tolist()
        memory.batch(), other.batch()
    assert content(memory) == content(other)
    assert memory.stats == other.stats


def test_state_of_another_memory_is_refused() -> None:
    state = Memory("fps", 8, 4).state_dict()
    for other in (Memory("cstu", 8, 4), Memory("fps", 9, 4), Memory("fps", 8, 5), Memory("fps", 8, 4, epsilon=0.1)):
        with pytest.raises(GottaError, match="the saved state has"):
            other.load_state_dict(state)


@pytest.mark.parametrize("name", policies.names())
def test_deep_copies_are_independent(name: str) -> None:
    memory = Memory(name, 8, 4)
    memory.observe(**batch_of(30))
    other = copy.deepcopy(memory)
    before = content(other)
    memory.observe(**batch_of(30, seed=1))
    assert content(other) == before
    other.observe(**batch_of(30, seed=1))
    assert content(other) == content(memory)


def told(label: list[int], uncertainty: list[float]) -> Prediction:
    prediction = Prediction(torch.eye(4)[label])
    object.__setattr__(prediction, "uncertainty", torch.tensor(uncertainty, dtype=torch.float64))
    return prediction


def test_refresh_moves_rows_even_above_the_quota() -> None:
    memory = Memory("fps", 4, 4)
    embedding = np.eye(4, dtype=np.float32)
    memory.observe(np.arange(4), label=[0, 1, 2, 3], uncertainty=[0.1] * 4, embedding=embedding)
    seen: list[list[int]] = []

    def predict(x: Tensor) -> Prediction:
        seen.append(x.tolist())
        return told([2, 2, 2, 1], [0.4, 0.3, 0.2, 0.1])

    memory.refresh(predict)
    batch = memory.batch()
    assert seen == [[0, 1, 2, 3]]
    assert batch.x.tolist() == [3, 0, 1, 2]
    assert batch.label.tolist() == [1, 2, 2, 2]
    assert batch.uncertainty.tolist() == [0.1, 0.4, 0.3, 0.2]
    assert batch.age.tolist() == [1, 4, 3, 2]
    memory.observe([4], label=[0], uncertainty=[0.0], embedding=embedding[:1])
    assert sorted(memory.batch().x.tolist()) == [1, 2, 3, 4], "the worst row of the crowded class leaves"


def test_a_bad_refresh_changes_nothing() -> None:
    memory = Memory("fps", 8, 4)
    memory.refresh(lambda x: pytest.fail("nothing to refresh"))
    memory.observe(**batch_of(30))
    before = content(memory)
    with pytest.raises(GottaError, match="NaN"):
        memory.refresh(lambda x: Prediction(torch.full((len(x), 4), torch.nan)))
    with pytest.raises(GottaError, match="shape"):
        memory.refresh(lambda x: Prediction(torch.zeros(1, 4)))
    assert content(memory) == before


def test_refresh_every() -> None:
    assert Memory("fps", 8, 4).refresh_every is None
    assert Memory("fpsd", 8, 4).refresh_every == 10
    assert Memory("fpsd", 8, 4, refresh_every=3).refresh_every == 3
    assert Memory("fpsd", 8, 4, refresh_every=0).refresh_every is None
    assert Memory("cstu", 8, 4, refresh_every=5).refresh_every == 5


def test_stats_name_reasons() -> None:
    memory = Memory("fifo", 2, 1)
    memory.observe(np.arange(5))
    assert memory.stats == {"stored": 5, "rejected": 0, "evicted": 3, "room": 2, "replaced oldest": 3}


def test_notes_on_few_slots() -> None:
    assert Memory("fps", 64, 10).notes == []
    assert "0.8 of a slot" in Memory("fps", 8, 10).notes[0]


@pytest.mark.parametrize("name", policies.names())
def test_a_single_class(name: str) -> None:
    memory = Memory(name, 4, 1)
    part = {**batch_of(20), "label": np.zeros(20, int)}
    assert memory.observe(**part).shape == (20,)
    assert np.isfinite(memory.batch().uncertainty.numpy()).all()


@pytest.mark.parametrize("name", ["reservoir", "pbrs"])
def test_after_a_reset_the_same_is_drawn_again(name: str) -> None:
    memory = Memory(name, 8, 10, seed=1)
    stream = predictions(np.random.default_rng(0), 200, 10, True)
    first = memory.observe(np.arange(200), **stream).tolist()
    assert first != memory.observe(np.arange(200), **stream).tolist()
    memory.reset()
    assert first == memory.observe(np.arange(200), **stream).tolist()


def test_empty_memory_reads_empty() -> None:
    batch = Memory("fps", 8, 4).batch()
    assert len(batch) == len(batch.x) == 0


@pytest.mark.slow
def test_a_hundred_thousand_samples_in_a_file(tmp_path: Path) -> None:
    memory = Memory("fifo", 100_000, 10, storage=tmp_path / "pixels.bin")
    for start in range(0, 120_000, 1000):
        memory.observe(np.arange(start, start + 1000, dtype=np.int32).repeat(64).reshape(-1, 64))
    assert len(memory) == 100_000
    assert memory.batch().x[:, 5].tolist() == list(range(20_000, 120_000))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "hus", "rbm", "composed"])
def test_long_streams_take_no_more_memory(name: str) -> None:
    """What Python and NumPy hold grows by less than 64 kB between 5,000 and 30,000 samples."""
    memory = Memory(name, 64, 10)
    streams = [predictions(np.random.default_rng(seed), 1000, 10, True) for seed in range(5)]
    tracemalloc.start()
    held = []
    for step in range(30):
        memory.observe(np.arange(1000), **streams[step % 5])
        if step in (4, 29):
            gc.collect()
            held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert held[1] - held[0] < 2**16


@pytest.mark.parametrize(("slot", "clear"), [(0, 0), (-1, 1), (-1, 9), (-1, -2), (4, -1)])
def test_a_decision_that_cannot_be_done_is_refused(slot: int, clear: int) -> None:
    class Odd(Policy):
        def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
            return Decision(table.free(), "room") if not len(table) else Decision(slot, "odd", clear)

    memory = Memory(Odd(), 4, 2)
    memory.observe([0])
    with pytest.raises(GottaError, match=f"chose slot {slot} and to clear {clear}"):
        memory.observe([1])
    assert len(memory) == 1
