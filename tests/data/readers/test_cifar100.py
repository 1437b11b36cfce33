"""CIFAR-100 from small files in its two published forms."""

import numpy as np
import pytest
from data.cifar_files import planes, python2_pickle, write_folder, write_tar

from gotta.data import cifar100, dataset
from gotta.errors import GottaError

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (5, 32, 32, 3), dtype=np.uint8)
FINE = np.array([99, 0, 17, 42, 42])


def python_files():
    pickled = python2_pickle(planes(IMAGES), FINE.tolist())
    return {"cifar-100-python/test": pickled.replace(b"U\x06labels", b"U\x0bfine_labels")}


def binary_files():
    records = np.concatenate([FINE[:, None] // 5, FINE[:, None], planes(IMAGES)], 1).astype(np.uint8)
    return {"cifar-100-binary/test.bin": records.tobytes()}


@pytest.mark.parametrize("files", [python_files, binary_files])
@pytest.mark.parametrize("packed", [True, False])
def test_both_forms(tmp_path, files, packed):
    path = write_tar(tmp_path / "c.tar.gz", files()) if packed else write_folder(tmp_path / "c", files())
    images, labels = cifar100(path)
    assert np.array_equal(images, IMAGES)
    assert labels.tolist() == FINE.tolist()
    data = dataset("cifar100", path=str(path))
    assert data.num_classes == 100
    assert np.array_equal(data.images("clean", np.array([3])), IMAGES[[3]])


def test_what_is_wrong_is_told(tmp_path):
    with pytest.raises(GottaError, match="no CIFAR-100 at"):
        cifar100(tmp_path / "gone")
    with pytest.raises(GottaError, match="no split 'tset'"):
        cifar100(tmp_path, "tset")
    folder = write_folder(tmp_path / "c", binary_files())
    with pytest.raises(GottaError, match="no train batches of lossless CIFAR-100"):
        cifar100(folder, "train")
    broken = write_folder(tmp_path / "d", {"test.bin": binary_files()["cifar-100-binary/test.bin"][:-1]})
    with pytest.raises(GottaError, match="multiple of 3074"):
        cifar100(broken)
    cifar10_batch = write_folder(tmp_path / "e", {"test": python2_pickle(planes(IMAGES), FINE.tolist())})
    with pytest.raises(GottaError, match="not a batch of CIFAR-10 or CIFAR-100"):
        cifar100(cifar10_batch)
