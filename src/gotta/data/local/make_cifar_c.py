"""Write a corrupted copy of a data set in the layout of CIFAR-10-C."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gotta.data.archives import reading_error
from gotta.data.corruptions import SEVERITIES, STANDARD, corrupt
from gotta.data.corruptions.inputs import check_images, check_seed, find_parameters
from gotta.data.readers.cifar_c import load_array
from gotta.errors import GottaError
from gotta.files import check_writable, write_atomically
from gotta.json_yaml import read_json
from gotta.limits import Count, require
from gotta.types import Images
from gotta.workers import run_in_order

Progress = Callable[[int, int], None]
Task = tuple[str, int, int, int]  # corruption, severity, first and last image

RECORD = "made.json"
_PIXELS_PER_TASK = 2**20


def make_cifar_c(
    images: Images,
    labels: ArrayLike,
    out_dir: str | Path,
    corruptions: Sequence[str] = STANDARD,
    table: str = "cifar",
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Write `<corruption>.npy` (severity s in rows (s - 1) * N to s * N) and `labels.npy`, and return the folder.

    A complete file of the right shape is kept, so an interrupted call is taken up by repeating it; files appear under
    their name only when complete. The bytes do not depend on `workers`; with more than one, a script must guard its
    entry with `if __name__ == "__main__"`. `progress(done, total)` counts corrupted images.

    `images` are uint8 [N, 32, 32, 3], and the files go to `out_dir`; `corruptions`, `table` and `seed` are those of
    `corrupt`.

    >>> import tempfile
    >>> import numpy as np
    >>> from gotta.data import make_cifar_c
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = make_cifar_c(np.zeros((2, 32, 32, 3), np.uint8), labels=[0, 1], out_dir=folder, corruptions=["fog"])
    ...     print(np.load(made / "fog.npy").shape)
    (10, 32, 32, 3)
    """
    images, target = check_images(images), _check_labels(labels, len(images))
    for name in corruptions:
        find_parameters(name, 1, table)
    require("workers", workers, Count)
    seed, folder = check_seed(seed), Path(out_dir)
    check_writable(folder / RECORD)
    shape = (len(SEVERITIES) * len(images), *images.shape[1:])
    names = list(dict.fromkeys(corruptions))
    open_names = [name for name in names if not _is_there(folder / f"{name}.npy", shape)]
    _write_labels(folder / "labels.npy", np.tile(target, len(SEVERITIES)))
    content = hashlib.sha256(np.ascontiguousarray(images).data).hexdigest()
    check_record(folder, {"table": table, "seed": seed, "images": content})
    done, total = (len(names) - len(open_names)) * shape[0], len(names) * shape[0]
    progress(done, total)
    tasks = [task for name in open_names for task in _tasks(name, images)]
    with closing(run_in_order(_corrupt, (images, table, seed), tasks, workers if workers > 1 else 0, True)) as made:
        for name in open_names:
            with aside(folder / f"{name}.npy") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": shape})
                for part in islice(made, len(_tasks(name, images))):  # in the order of the rows
                    file.write(part.tobytes())
                    done += len(part)
                    progress(done, total)
    return folder


def _tasks(name: str, images: Images) -> list[Task]:
    step = max(1, _PIXELS_PER_TASK // (images.shape[1] * images.shape[2]))
    starts = range(0, len(images), step)
    return [(name, severity, start, min(start + step, len(images))) for severity in SEVERITIES for start in starts]


def _corrupt(given: tuple[Images, str, int], task: Task) -> Images:
    images, table, seed = given
    name, severity, start, stop = task
    return corrupt(images[start:stop], name, severity, table, seed, np.arange(start, stop))


def _check_labels(labels: ArrayLike, count: int) -> NDArray[np.integer]:
    array = np.asarray(labels)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer) or array.min() < 0:
        expected = f"whole numbers from 0 up, one for each of the {count} images"
        raise GottaError(f"labels are {array.dtype} of shape {list(array.shape)}. Expected {expected}.")
    return array.astype(np.uint8 if array.max() < 256 else np.int64)


def _is_there(path: Path, shape: tuple[int, ...]) -> bool:
    """Whether the file is complete; a complete one of another shape is an error, never overwritten."""
    try:
        found = load_array(path)
    except GottaError:
        return False
    if found.dtype == np.uint8 and found.shape != shape:
        told = f"'{path}' has shape {list(found.shape)}. Expected {list(shape)}"
        raise GottaError(f"{told}. Choose another folder or remove the file.")
    return bool(found.dtype == np.uint8)


def _write_labels(path: Path, labels: NDArray[np.integer]) -> None:
    if not path.exists():
        with aside(path) as file:
            np.save(file, labels, allow_pickle=False)
    elif not np.array_equal(load_array(path), labels):
        raise GottaError(f"'{path}' holds other labels than these images have. Choose another folder.")


def check_record(folder: Path, recipe: dict[str, Any]) -> None:
    """One recipe per folder, noted before the first image."""
    path = folder / RECORD
    if not path.exists():
        return write_atomically(path, json.dumps(recipe, indent=1) + "\n")
    with reading_error(f"'{path}', which says how the files beside it were made, is damaged", "Remove it if you know."):
        made = dict(read_json(path))
        if not made:
            raise ValueError("it is empty")
    if different := [name for name in recipe if made.get(name) != recipe[name]]:
        told = f"'{folder}' was made with another {', '.join(different)}"
        raise GottaError(f"{told}. Choose another folder, or make it as before.")


@contextmanager
def aside(path: Path) -> Iterator[BinaryIO]:
    """Write beside the file and rename at the end, so that it is never seen half written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise GottaError(f"cannot write '{path}': {error.strerror}. Free some space.") from error
    finally:
        part.unlink(missing_ok=True)
