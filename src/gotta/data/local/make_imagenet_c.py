"""Write a corrupted copy of images by class in the layout of ImageNet-C."""

import hashlib
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import accumulate, product
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from gotta.data.corruptions import SEVERITIES, STANDARD, corrupt
from gotta.data.corruptions.inputs import check_seed, find_parameters
from gotta.data.local.make_cifar_c import RECORD, Progress, check_record
from gotta.data.readers.pictures import Fit, Pictures, noise_index
from gotta.data.readers.tiny_imagenet import tiny_pictures
from gotta.errors import GottaError, check_known
from gotta.files import check_writable
from gotta.limits import Count, require
from gotta.types import IntArray
from gotta.workers import run_in_order

# What the published generator saves with; PNG keeps the pixels as they were corrupted.
FORMATS: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": (".JPEG", {"format": "JPEG", "quality": 85, "optimize": True}),
    "png": (".png", {"format": "PNG"}),
}
AT_ONCE = 32
Task = tuple[str, int, int]  # corruption, severity, class


@dataclass(frozen=True)
class Job:
    """What every task of one call shares."""

    pictures: Pictures
    folder: Path
    fit: Fit
    format: str
    table: str
    seed: int

    def target(self, task: Task) -> Path:
        name, severity, label = task
        return self.folder / name / str(severity) / self.pictures.classes[label]

    def rows(self, label: int) -> IntArray:
        return np.flatnonzero(self.pictures.labels == label)

    def files(self, rows: IntArray) -> list[str]:
        suffix = FORMATS[self.format][0]
        return [PurePosixPath(self.pictures.names[row]).stem + suffix for row in rows]


def make_imagenet_c(
    source: str | Path,
    out_dir: str | Path,
    corruptions: Sequence[str] = STANDARD,
    severities: Sequence[int] = SEVERITIES,
    size: int = 224,
    resize: int | None = None,
    format: str = "jpeg",
    table: str = "imagenet",
    seed: int = 0,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> Path:
    """Write `<corruption>/<severity>/<class>/<image>` and return the folder.

    Images that are not squares of side `size` are brought to a shorter side of `resize` (left open: 8/7 of the size,
    256 for 224, as published) and cut to their centre. A class folder appears when complete and is kept by later calls.
    """
    for name, severity in product(corruptions, severities):
        find_parameters(name, severity, table)
    check_known("format", format, FORMATS)
    require("workers", workers, Count)
    fit = Fit(size, round(size * 8 / 7) if resize is None else resize)
    pictures = tiny_pictures(Path(source))
    job = Job(pictures, Path(out_dir), fit, format, table, check_seed(seed))
    files = [job.files(job.rows(label)) for label in range(len(pictures.classes))]
    for name, some in zip(pictures.classes, files, strict=True):
        if len(set(some)) < len(some):
            raise GottaError(f"class {name} has images that differ in their suffix only. Rename.")
    check_writable(job.folder / RECORD)
    listed = hashlib.sha256("\n".join(pictures.names).encode()).hexdigest()
    check_record(job.folder, {**asdict(fit), "format": format, "table": table, "seed": job.seed, "images": listed})
    tasks = list(product(dict.fromkeys(corruptions), dict.fromkeys(severities), range(len(files))))
    todo = [task for task in tasks if not _is_there(job.target(task), files[task[2]])]
    total = sum(len(files[label]) for _, _, label in tasks)
    kept = total - sum(len(files[label]) for _, _, label in todo)
    with closing(run_in_order(_write, job, todo, workers if workers > 1 else 0, processes=True)) as written:
        for done in accumulate(written, initial=kept):
            progress(done, total)
    return job.folder


def severities(text: str) -> list[int]:
    """`1,5` as numbers; all five if nothing is named."""
    try:
        return [int(part) for part in text.split(",") if part] or list(SEVERITIES)
    except ValueError:
        raise GottaError(f"severities must be whole numbers such as 3,5 (got '{text}').") from None


def _write(job: Job, task: Task) -> int:
    """One class at one severity, aside and renamed when complete; the number of images."""
    name, severity, label = task
    rows, target = job.rows(label), job.target(task)
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # what a killed call left
    try:
        part.mkdir(parents=True)
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            noise = noise_index([job.pictures.names[row] for row in some])
            images = corrupt(job.pictures.read(some, job.fit), name, severity, job.table, job.seed, noise)
            for file, pixels in zip(job.files(some), images, strict=True):
                Image.fromarray(pixels).save(part / file, **FORMATS[job.format][1])
        part.rename(target)
    except OSError as error:
        raise GottaError(f"cannot write '{target}': {error.strerror or error}. Free some space.") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return len(rows)


def _is_there(target: Path, files: Sequence[str]) -> bool:
    """Whether the class is complete; one with other files is an error, never overwritten."""
    if not target.exists():
        return False
    if sorted(path.name for path in target.iterdir()) == sorted(files):
        return True
    raise GottaError(f"'{target}' holds other files than this call would write. Choose another folder or remove it.")
