"""Recorded streams: saved without pickle, loaded alike, replayed through any policy."""

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from memory.streams import predictions

from gotta.errors import GottaError
from gotta.memory import Memory, journal, policies
from gotta.memory.replay import replay as run_again
from gotta.types import Prediction


def recorded(name: str, reads: bool = True) -> Memory:
    memory = Memory(name, 8, 4, seed=2, journal=True)
    stream = predictions(np.random.default_rng(0), 120, 4, True)
    for start in range(0, 120, 12):
        part = slice(start, start + 12)
        memory.observe(np.arange(start, start + 12), **{key: value[part] for key, value in stream.items()})
        if reads:
            memory.batch()
    return memory


@pytest.mark.parametrize("name", policies.names())
def test_replay_repeats_the_decisions(name: str, tmp_path: Path) -> None:
    memory = recorded(name)
    assert memory.journal is not None
    memory.journal.save(tmp_path / "journal.npz")
    loaded = journal.load(tmp_path / "journal.npz")
    replay = run_again(loaded, name, seed=2, journal=True)
    assert replay.memory.batch().x.tolist() == memory.batch().x.tolist()
    assert replay.memory.journal is not None
    for column in ("id", "slot", "evicted", "reason"):
        assert np.array_equal(replay.memory.journal.column(column), memory.journal.column(column))
    assert replay.seconds > 0


def test_replay_through_another_policy_equals_a_memory_that_was_there() -> None:
    memory = recorded("fifo")
    assert memory.journal is not None
    replay = run_again(memory.journal, "fps", capacity=6, epsilon=0.1)
    other = Memory("fps", 6, 4, epsilon=0.1)
    stream = predictions(np.random.default_rng(0), 120, 4, True)
    other.observe(np.arange(120), **stream)
    assert replay.memory.batch().x.tolist() == other.batch().x.tolist()


def test_exact_only_for_a_frozen_model() -> None:
    memory = recorded("fps")
    assert memory.journal is not None
    assert not run_again(memory.journal, "cstu").exact
    memory.journal.frozen = True
    assert run_again(memory.journal, "cstu").exact
    memory.refresh(lambda x: Prediction(torch.eye(4)[torch.zeros(len(x), dtype=torch.long)]))
    assert not run_again(memory.journal, "cstu").exact


def test_save_keeps_everything(tmp_path: Path) -> None:
    memory = recorded("cds")
    memory.refresh(lambda x: Prediction(torch.eye(4)[torch.zeros(len(x), dtype=torch.long)]))
    kept = memory.journal
    assert kept is not None
    kept.save(tmp_path / "journal.npz")
    loaded = journal.load(tmp_path / "journal.npz")
    assert loaded.events == kept.events
    assert len(loaded) == len(kept) == 120
    for mine, theirs in zip(kept.batches + kept.refreshes, loaded.batches + loaded.refreshes, strict=True):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine)


def test_memory_that_needs_more_than_was_recorded() -> None:
    memory = Memory("fifo", 4, 2, journal=True)
    memory.observe(np.arange(6))
    assert memory.journal is not None
    with pytest.raises(GottaError, match="label is missing"):
        run_again(memory.journal, "pbrs")


def test_other_files_are_refused(tmp_path: Path) -> None:
    for text in (b"nothing", b""):
        (tmp_path / "other.npz").write_bytes(text)
        with pytest.raises(GottaError, match="not a journal"):
            journal.load(tmp_path / "other.npz")
    with pytest.raises(GottaError, match="not a journal"):
        journal.load(tmp_path / "missing.npz")


def test_reset_starts_an_empty_journal() -> None:
    memory = recorded("fps")
    memory.reset()
    assert memory.journal is not None
    assert len(memory.journal) == 0
    with pytest.raises(GottaError, match="no column"):
        memory.journal.column("slot")


def forge(path: Path, **changes: object) -> None:
    """The same journal with other arrays, or others in place of what its head says."""
    with np.load(path) as file:
        parts = dict(file)
    about = {**json.loads(str(parts["about"])), **{k: v for k, v in changes.items() if not isinstance(v, np.ndarray)}}
    arrays = {name.replace("_", "."): value for name, value in changes.items() if isinstance(value, np.ndarray)}
    np.savez(path, **{**parts, "about": np.array(json.dumps(about)), **arrays})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"capacity": 10**12},
        {"capacity": "x"},
        {"num_classes": -1},
        {"format": None},
        {"events": np.array([[7, 1]])},
        {"events": np.array([[0, 10**9]])},
        {"events": np.array([[0, -5]])},
        {"events": np.array([1, 2])},
        {"offer_label": np.zeros(3, np.int64)},
        {"about": np.array("[" * 10_000)},
        {"about": np.array("[]")},
    ],
)
def test_a_forged_journal_is_one_message(changes: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "journal.npz"
    memory = recorded("fifo")
    assert memory.journal is not None
    memory.journal.save(path)
    forge(path, **changes)
    with pytest.raises(GottaError, match="is not a journal"):
        journal.load(path)


def test_a_journal_that_unpacks_to_more_than_there_is_room_for(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("x.npy", "w") as file,
    ):
        for _ in range(5):
            file.write(bytes(1000))
    info = tmp_path / "bomb.npz"
    content = info.read_bytes()
    assert content.count((5000).to_bytes(4, "little")) >= 1
    info.write_bytes(content.replace((5000).to_bytes(4, "little"), (0xFFFFFFF0).to_bytes(4, "little")))
    with pytest.raises(GottaError, match="is not a journal"):
        journal.load(info)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x93NUMPY\x01\x00", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_no_journals(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "journal.npz").write_bytes(content)
    with pytest.raises(GottaError, match="is not a journal"):
        journal.load(tmp_path / "journal.npz")
