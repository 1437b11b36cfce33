"""CIFAR-10-C in its published layout: mapped arrays, and every way in which a folder can be wrong."""

import os
import pickle
import resource

import numpy as np
import pytest

from gotta.data import STANDARD, dataset
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.data.readers.cifar_c import CifarC
from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec

COUNT = 6
LABELS = np.array([3, 8, 8, 0, 6, 1])


def pixels(seed):
    return np.random.default_rng(seed).integers(0, 256, (5 * COUNT, 32, 32, 3), dtype=np.uint8)


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "CIFAR-10-C"
    root.mkdir()
    for seed, name in enumerate(("fog", "snow", "spatter", "my_own")):
        np.save(root / f"{name}.npy", pixels(seed))
    np.save(root / "labels.npy", np.tile(LABELS, 5).astype(np.uint8))
    return root


def test_severity_s_is_the_sth_block_of_rows(folder):
    data = dataset("cifar10_c", path=str(folder))
    assert data.labels.tolist() == LABELS.tolist()
    assert data.num_classes == 10
    rows = np.array([4, 0, 4])
    for severity in (1, 3, 5):
        expected = pixels(1)[(severity - 1) * COUNT + rows]
        assert np.array_equal(data.images(f"snow-{severity}", rows), expected)


def test_domains_are_what_is_there_in_the_canonical_order(folder):
    domains = CifarC(folder, 10).domains
    assert [domain for domain in domains if domain.endswith("-5")] == ["snow-5", "fog-5", "spatter-5", "my_own-5"]
    assert len(domains) == 20


def test_found_in_the_data_home(folder, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(folder.parent))
    assert np.array_equal(dataset("cifar10_c").labels, LABELS)
    with pytest.raises(GottaError, match=r"'cifar100_c' is not in .*CIFAR-100-C"):
        dataset("cifar100_c")


def test_what_is_returned_is_the_callers_own(folder):
    data = CifarC(folder, 10)
    data.images("fog-1", np.arange(2))[:] = 0
    assert data.images("fog-1", np.arange(2)).any()


def test_another_process_can_have_it_without_the_pixels(folder):
    data = CifarC(folder, 10)
    expected = data.images("fog-2", np.arange(3))
    sent = pickle.dumps(data)
    assert len(sent) < 10_000
    assert np.array_equal(pickle.loads(sent).images("fog-2", np.arange(3)), expected)


def test_the_official_size_is_never_loaded_whole(tmp_path):
    for name in ("fog", "snow"):
        rows = np.lib.format.open_memmap(tmp_path / f"{name}.npy", "w+", np.uint8, (50000, 32, 32, 3))
        rows[40007], rows[9999] = 7, 9
        del rows
    np.save(tmp_path / "labels.npy", np.tile(np.arange(10000) % 10, 5))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    data = CifarC(tmp_path, 10)
    data.require(data.domains)
    assert (data.images("fog-5", np.array([7, 8])) == [[[[7]]], [[[0]]]]).all()
    assert (data.images("snow-1", np.array([9999])) == 9).all()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # of 300,000 kB


def test_what_gotta_makes_is_read_back(tmp_path):
    images = pixels(0)[:COUNT]
    make_cifar_c(images, LABELS, tmp_path, ("contrast", "brightness"))
    data = CifarC(tmp_path, 10)
    assert np.array_equal(data.images("contrast-4", np.arange(COUNT)), np.load(tmp_path / "contrast.npy")[18:24])
    assert {domain.rpartition("-")[0] for domain in data.domains} == {"brightness", "contrast"}


def test_only_what_a_stream_shows_must_be_whole(folder):
    (folder / "fog.npy").write_bytes((folder / "fog.npy").read_bytes()[:-100])
    data = CifarC(folder, 10)
    assert len(list(Stream(data, StreamSpec(domains="snow,spatter")))) > 0
    with pytest.raises(GottaError, match=r"fog.npy' is not a complete NumPy file: mmap length"):
        Stream(data, StreamSpec(domains="snow,fog"))
    with pytest.raises(GottaError, match="domain 'frost-5' is unknown"):
        Stream(data, StreamSpec(domains="frost"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: np.save(f / "fog.npy", pixels(0)[:10]), r"shape \[10, 32, 32, 3\]. Expected .*\[30, 32, 32, 3\]"),
        (lambda f: np.save(f / "fog.npy", pixels(0) / 255), "float64"),
        (lambda f: np.save(f / "fog.npy", pixels(0).transpose(0, 3, 1, 2)), r"\[30, 3, 32, 32\]"),
        (lambda f: (f / "fog.npy").write_text("<html>404</html>"), "not a complete NumPy file"),
        (lambda f: (f / "fog.npy").write_bytes(b""), "not a complete NumPy file"),
        (lambda f: np.save(f / "fog.npy", np.array([{}], object), allow_pickle=True), "not a complete NumPy file"),
    ],
)
def test_damaged_arrays(folder, damage, message):
    damage(folder)
    with pytest.raises(GottaError, match=message):
        CifarC(folder, 10).images("fog-1", np.array([0]))


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS, "30 labels|the same list five times"),
        (np.repeat(LABELS, 5), "the same list five times"),
        (np.tile(LABELS, 5).astype(float), "float64"),
        (np.tile(LABELS, (5, 1)), r"shape \[5, 6\]"),
        (np.tile(LABELS + 2, 5), "labels go from 2 to 10. Expected 0 to 9"),
        (np.array([], int), r"shape \[0\]"),
    ],
)
def test_wrong_labels(folder, labels, message):
    np.save(folder / "labels.npy", labels)
    with pytest.raises(GottaError, match=message):
        CifarC(folder, 10)


def test_missing_parts(tmp_path, folder):
    (folder / "labels.npy").unlink()
    with pytest.raises(GottaError, match=r"no '.*labels.npy'. Unpack the archive again"):
        CifarC(folder, 10)
    os.mkfifo(folder / "labels.npy")  # which nobody ever writes to
    with pytest.raises(GottaError, match=r"no '.*labels.npy'"):
        CifarC(folder, 10)
    (tmp_path / "file").touch()
    with pytest.raises(GottaError, match="is not a folder"):
        CifarC(tmp_path / "file", 10)
    empty = tmp_path / "empty"
    empty.mkdir()
    np.save(empty / "labels.npy", np.tile(LABELS, 5))
    with pytest.raises(GottaError, match=f"no <corruption>.npy, such as {STANDARD[0]}"):
        CifarC(empty, 10)
