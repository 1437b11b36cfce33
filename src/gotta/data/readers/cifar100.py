"""CIFAR-100 from its authors' Python and binary archives, with its 100 fine labels."""

from pathlib import Path

import numpy as np

from gotta.data.readers.cifar import files_of, from_planes
from gotta.data.readers.cifar_pickle import ROW, read_batch
from gotta.errors import GottaError
from gotta.types import Images, IntArray

SPLITS = ("train", "test")
KNOWN = "cifar-100-python.tar.gz, cifar-100-binary.tar.gz, or a folder with what is in one"
LABEL_BYTES = 2  # coarse, fine


def cifar100(path: str | Path, split: str = "test") -> tuple[Images, IntArray]:
    """Images [N, 32, 32, 3] and fine labels [N] of `train` or `test`, in CIFAR's own order."""
    path = Path(path)
    if split not in SPLITS:
        raise GottaError(f"CIFAR-100 has no split '{split}'. Expected train or test.")
    if not (path.is_file() or path.is_dir()):
        raise GottaError(f"no CIFAR-100 at {path}. Expected {KNOWN}.")
    files = dict(files_of(path, {split, f"{split}.bin"}))
    if f"{split}.bin" in files:
        rows, labels = _records(files[f"{split}.bin"], f"{path}: {split}.bin")
    elif split in files:
        rows, labels = read_batch(files[split], f"{path}: {split}", "fine_labels")
    else:
        raise GottaError(f"{path} holds no {split} images of CIFAR-100. Expected {KNOWN}.")
    if labels.shape != (len(rows),) or not len(labels) or not 0 <= labels.min() <= labels.max() < 100:
        raise GottaError(f"{path}: the {split} labels are not one of 0 to 99 for each of {len(rows)} images.")
    return from_planes(rows), labels


def _records(data: bytes, name: str) -> tuple[Images, IntArray]:
    """Records of a coarse and a fine label byte and three colour planes."""
    if not data or len(data) % (LABEL_BYTES + ROW):
        raise GottaError(
            f"{name} has {len(data)} bytes. Expected a multiple of {LABEL_BYTES + ROW}. Download it again."
        )
    records = np.frombuffer(data, np.uint8).reshape(-1, LABEL_BYTES + ROW)
    return records[:, LABEL_BYTES:], records[:, 1].astype(np.int64)
