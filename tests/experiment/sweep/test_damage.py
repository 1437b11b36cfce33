"""A full disk, a read-only folder, a cut file: one clear message, the rest goes on, the damaged cell is run again."""

import subprocess

import pytest
from experiment import tiny_sweep
from experiment.tiny_sweep import completions, numbers, specs, sweep

from gotta import GottaError
from gotta.experiment.sweep.store import Store

pytestmark = pytest.mark.thorough

CELLS = 8


@pytest.fixture(autouse=True)
def tiny(monkeypatch):
    tiny_sweep.use_tiny(monkeypatch)


@pytest.fixture
def disk(tmp_path):
    """A disk of its own, and a function that sets it up anew: `disk('size=1m')`."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options):
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", folder], capture_output=True)
        if done.returncode:
            pytest.skip("this user cannot mount a tmpfs")

    try:
        mount("size=160k")
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    yield folder, lambda *options: mount("remount", *options)
    subprocess.run(["umount", "--lazy", folder], check=True)


def run(root, count=CELLS):
    events = []
    failures = sweep(specs(count), Store(root), 1, 1, events.append)
    return failures, events


@pytest.fixture
def calm(tmp_path):
    assert run(tmp_path / "calm")[0] == []
    return numbers(tmp_path / "calm")


def test_a_full_disk(disk, calm):
    root, remount = disk
    failures, _ = run(root / "out")
    kept = numbers(root / "out")
    assert 0 < len(kept) < CELLS
    assert len(kept) + len(failures) == CELLS
    assert all("No space left on device" in failure.message for failure in failures)
    assert all("\n" not in failure.message for failure in failures)
    assert Store(root / "out").damaged() == []
    remount("size=10m")
    assert run(root / "out")[0] == []
    assert numbers(root / "out") == calm


def test_a_folder_that_becomes_read_only(disk, calm):
    root, remount = disk
    remount("size=10m")
    assert run(root, 3)[0] == []
    remount("ro")
    failures, _ = run(root)
    assert len(failures) == CELLS - 3
    assert all("Read-only file system" in failure.message for failure in failures)
    with pytest.raises(GottaError, match="Read-only file system"):
        Store(root, writable=True)
    remount("rw")
    assert run(root)[0] == []
    assert numbers(root) == calm


@pytest.mark.parametrize("name", ["summary.json", "spec.json", "environment.json", "steps.jsonl"])
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_a_cut_file(tmp_path, name, share):
    assert run(tmp_path, 3)[0] == []
    whole, victim = numbers(tmp_path), specs(3)[1].id
    path = tmp_path / "runs" / victim / name
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    assert [id for id, _ in Store(tmp_path).damaged()] == [victim]
    failures, events = run(tmp_path, 3)
    assert failures == []
    assert {event.id for event in events} == {victim}
    assert numbers(tmp_path) == whole
    assert completions(tmp_path)[victim] == 2
