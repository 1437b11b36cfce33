"""Writing a corrupted data set in the published layout."""

import json
import os
from multiprocessing import get_context

import numpy as np
import pytest

from gotta.data.corruptions import EXTRA, STANDARD, corrupt
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.errors import GottaError

pytestmark = pytest.mark.thorough

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 16, 20, 3), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9, 2])
TWO = ("fog", "contrast")
ALL = STANDARD + EXTRA


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_layout(tmp_path):
    folder = make_cifar_c(IMAGES, LABELS, tmp_path / "new" / "CIFAR-10-C")
    assert sorted(p.name for p in folder.iterdir()) == sorted(
        [*(f"{n}.npy" for n in STANDARD), "labels.npy", "made.json"]
    )
    for name in STANDARD:
        rows = np.load(folder / f"{name}.npy", allow_pickle=False)
        assert rows.dtype == np.uint8
        assert rows.shape == (35, 16, 20, 3)
        for severity in (1, 5):
            np.testing.assert_array_equal(rows[(severity - 1) * 7 : severity * 7], corrupt(IMAGES, name, severity))
    labels = np.load(folder / "labels.npy", allow_pickle=False)
    np.testing.assert_array_equal(labels, np.tile(LABELS, 5))
    assert labels.dtype == np.uint8


def test_many_classes_need_wider_labels(tmp_path):
    folder = make_cifar_c(IMAGES, LABELS + 300, tmp_path, TWO)
    assert np.load(folder / "labels.npy", allow_pickle=False).max() == 309


def test_pieces_do_not_change_the_bytes(tmp_path, monkeypatch):
    whole = contents(make_cifar_c(IMAGES, LABELS, tmp_path / "a", TWO, seed=2))
    monkeypatch.setattr("gotta.data.local.make_cifar_c._PIXELS_PER_TASK", 2 * 16 * 20)
    assert contents(make_cifar_c(IMAGES, LABELS, tmp_path / "b", TWO, seed=2)) == whole


def test_workers_do_not_change_the_bytes(tmp_path, monkeypatch):
    """Other processes, which see other pieces in another order, draw the same random numbers."""
    monkeypatch.setattr("gotta.workers.get_context", lambda _: get_context("fork"))  # spawned ones would import torch
    monkeypatch.setattr("gotta.data.local.make_cifar_c._PIXELS_PER_TASK", 3 * 16 * 20)
    alone = contents(make_cifar_c(IMAGES, LABELS, tmp_path / "one", ALL, seed=5))
    assert contents(make_cifar_c(IMAGES, LABELS, tmp_path / "two", ALL, seed=5, workers=2)) == alone


def test_progress_counts_images_and_includes_what_is_there(tmp_path):
    seen = []
    make_cifar_c(IMAGES, LABELS, tmp_path, TWO, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (70, 70)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    seen.clear()
    make_cifar_c(IMAGES, LABELS, tmp_path, (*TWO, "pixelate"), progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (70, 105)
    assert seen[-1] == (105, 105)


def test_complete_files_are_kept_and_broken_ones_made_again(tmp_path):
    make_cifar_c(IMAGES, LABELS, tmp_path, TWO)
    good, kept = contents(tmp_path), (tmp_path / "fog.npy").stat().st_mtime_ns
    half = (tmp_path / "contrast.npy").read_bytes()
    (tmp_path / "contrast.npy").write_bytes(half[: len(half) // 2])
    make_cifar_c(IMAGES, LABELS, tmp_path, TWO)
    assert contents(tmp_path) == good
    assert (tmp_path / "fog.npy").stat().st_mtime_ns == kept


def test_official_files_without_a_record_are_kept(tmp_path):
    np.save(tmp_path / "fog.npy", np.zeros((35, 16, 20, 3), np.uint8))
    make_cifar_c(IMAGES, LABELS, tmp_path, TWO)
    assert not np.load(tmp_path / "fog.npy", allow_pickle=False).any()
    assert set(json.loads((tmp_path / "made.json").read_text())) == {"table", "seed", "images"}


def test_an_interrupted_call_leaves_no_half_file_and_is_taken_up(tmp_path):
    class Stopped(Exception):
        pass

    def stop(done, total):
        if done > 40:
            raise Stopped

    with pytest.raises(Stopped):
        make_cifar_c(IMAGES, LABELS, tmp_path, TWO, progress=stop)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fog.npy", "labels.npy", "made.json"]
    make_cifar_c(IMAGES, LABELS, tmp_path, TWO)
    fresh = make_cifar_c(IMAGES, LABELS, tmp_path / "fresh", TWO)
    assert (tmp_path / "contrast.npy").read_bytes() == (fresh / "contrast.npy").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, "another seed"),
        ({"table": "imagenet"}, "another table"),
        ({"images": IMAGES[::-1].copy()}, "another images"),
        ({"images": IMAGES[:5], "labels": LABELS[:5]}, r"has shape .*Expected \[25, 16, 20, 3\]"),
        ({"labels": LABELS[::-1]}, "other labels"),
    ],
)
def test_what_was_made_otherwise_is_never_overwritten(tmp_path, change, message):
    arguments = {"images": IMAGES, "labels": LABELS, "out_dir": tmp_path, "corruptions": TWO}
    make_cifar_c(**arguments)
    before = contents(tmp_path)
    with pytest.raises(GottaError, match=message):
        make_cifar_c(**(arguments | change))
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:3]}, "each of the 7 images"),
        ({"labels": LABELS / 2}, "whole numbers"),
        ({"labels": LABELS - 4}, "from 0 up"),
        ({"images": IMAGES.astype(float)}, "dtype float64"),
        ({"corruptions": ("fgo",)}, "Did you mean 'fog'"),
        ({"table": "cfar"}, "Did you mean 'cifar'"),
        ({"workers": 0}, "at least 1"),
        ({"seed": -3}, "seed"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(tmp_path, change, message):
    folder = tmp_path / "out"
    with pytest.raises(GottaError, match=message):
        make_cifar_c(**({"images": IMAGES, "labels": LABELS, "out_dir": folder, "corruptions": TWO} | change))
    assert not folder.exists()


def test_a_folder_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(GottaError, match="Choose a folder you can write to"):
        make_cifar_c(IMAGES, LABELS, tmp_path / "file" / "out", TWO)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the administrator may write everywhere")
def test_a_read_only_folder(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(GottaError, match="Choose a folder you can write to"):
        make_cifar_c(IMAGES, LABELS, tmp_path, TWO)
