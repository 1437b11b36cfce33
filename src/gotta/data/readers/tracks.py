"""Clips as files: `<class>/<track>/<frame>.jpg`, or whole frames with a box around the object in each."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from gotta.data.archives import reading_error
from gotta.data.readers.clips import Clips
from gotta.data.readers.pictures import Fit, decode, is_image, subfolders
from gotta.errors import GottaError
from gotta.limits import Count, NotNegative, require
from gotta.types import Images, IntArray

Boxes = NDArray[np.float64]  # [N, 4]: x, y, width, height in pixels


def is_tracks(root: Path) -> bool:
    """Whether a folder holds tracks by class, rather than images."""
    return any(subfolders(folder) and not image_files(folder) for folder in subfolders(root)[:1])


def read_tracks(root: str | Path, size: int) -> Clips:
    """The clips of `<root>/<class>/<track>/<frame>`, each frame fitted by its shorter side, the centre kept."""
    root, fit = Path(root), Fit(size)
    tracks = [track for folder in subfolders(root) for track in subfolders(folder)]
    if not tracks:
        raise GottaError(f"no tracks at {root}. Expected {root}/<class>/<track>/<frame>, frames as .jpg or .png.")
    bare = [str(folder) for folder in subfolders(root) if not subfolders(folder)]
    files = [image_files(track) for track in tracks]
    bare += [str(track) for track, found in zip(tracks, files, strict=True) if not found]
    if bare:
        raise GottaError(f"nothing in {', '.join(bare[:3])}. Expected tracks of frames; fill or remove these folders.")
    return _clips([track.parent.name for track in tracks], files, _fitted, fit)


def read_boxes(root: str | Path, size: int, margin: float = 0.1, classes: str = "classes.txt") -> Clips:
    """The clips of `<root>/frames/<video>/<n>.jpg` with boxes x,y,w,h in `<root>/anno/<video>.txt`, line n for frame n.

    The file `classes` has a line `<video> <class>` for each video. A frame is cut to its box, widened on each side by
    `margin` times the box's width or height and ended where the picture ends, and brought to size x size.
    """
    root = Path(root)
    require("size", size, Count)
    require("margin", margin, NotNegative)
    listed = _videos(root / classes)
    parts = [path for video in listed for path in (root / "anno" / f"{video}.txt", root / "frames" / video)]
    missing = [str(path) for path in parts if not path.exists()]
    if missing:
        raise GottaError(f"{root / classes} names videos that are not there: no {', no '.join(missing[:3])}.")
    files = [image_files(root / "frames" / video) for video in listed]
    boxes = [_boxes(root / "anno" / f"{video}.txt", len(found)) for video, found in zip(listed, files, strict=True)]
    return _clips(list(listed.values()), files, _cut_out, np.concatenate(boxes), margin, size)


def _fitted(paths: tuple[Path, ...], fit: Fit, rows: IntArray) -> Images:
    return np.stack([np.asarray(fit(decode(paths[row], paths[row]))) for row in rows])


def _cut_out(paths: tuple[Path, ...], boxes: Boxes, margin: float, size: int, rows: IntArray) -> Images:
    return np.stack([cut(paths[row], boxes[row], margin, size) for row in rows])


def cut(path: Path, box: Boxes, margin: float, size: int) -> Images:
    """The object in its box, with a margin as far as the picture goes, as size x size pixels."""
    picture = decode(path, path)
    x, y, width, height = box.tolist()
    left, right = max(0, round(x - margin * width)), min(picture.width, round(x + width + margin * width))
    top, bottom = max(0, round(y - margin * height)), min(picture.height, round(y + height + margin * height))
    if left >= right or top >= bottom:
        told = f"the box {x:g},{y:g},{width:g},{height:g} of {path} lies outside of the picture"
        raise GottaError(f"{told}, {picture.width} x {picture.height} pixels. Correct it, or leave out the video.")
    crop = picture.crop((left, top, right, bottom)).resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(crop)


def in_time(path: Path) -> list[tuple[int, str]]:
    """Sorts file names by the numbers in them: 2 before 10."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 20 else (-1, part) for part in re.split(r"(\d+)", path.stem)
    ]


def image_files(folder: Path) -> list[Path]:
    return sorted((p for p in folder.iterdir() if is_image(p.name) and p.name[0] != "."), key=in_time)


def _clips(named: Sequence[str], files: list[list[Path]], show: Callable[..., Images], *given: Any) -> Clips:
    """Clips of these classes, each of these files; `show` makes the pixels of rows from all files and what is given."""
    classes, lengths = tuple(sorted(set(named))), [len(found) for found in files]
    labels = np.repeat(np.array([classes.index(name) for name in named], np.int64), lengths)
    frames = partial(show, tuple(path for found in files for path in found), *given)
    return Clips(frames, labels, np.repeat(np.arange(len(files), dtype=np.int64), lengths), classes)


def _videos(path: Path) -> dict[str, str]:
    """The class of each video: lines of both, separated by a comma or blanks."""
    lines = _lines(path, "a line '<video> <class>' for each video")
    if not any(lines):
        raise GottaError(f"{path} is empty. Expected a line '<video> <class>' for each video.")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line:
            continue
        video, *rest = re.split(r"\s*,\s*|\s+", line, maxsplit=1)
        if not rest or not rest[0] or video in found:
            wrong = "names a video again" if video in found else "is not '<video> <class>'"
            raise GottaError(f"{path}: line {number} {wrong}: '{line[:60]}'.")
        found[video] = rest[0]
    return found


def _boxes(path: Path, frames: int) -> Boxes:
    lines = [line for line in _lines(path, "a line x,y,w,h for each frame") if line]
    boxes = np.full((len(lines), 4), np.nan)
    for row, line in enumerate(lines):
        with suppress(ValueError):
            boxes[row] = [float(part) for part in re.split(r"[,\s]+", line)]
        if not np.isfinite(boxes[row]).all() or not (boxes[row, 2:] > 0).all():
            raise GottaError(f"{path}: line {row + 1} is '{line[:60]}'. Expected four numbers x,y,w,h with w, h > 0.")
    if len(boxes) != frames or not frames:
        raise GottaError(f"{path} has {len(boxes)} boxes for {frames} frames. Expected one for each frame.")
    return boxes


def _lines(path: Path, expected: str) -> list[str]:
    with reading_error(f"cannot read {path}", f"Expected {expected}."):
        return [line.strip() for line in path.read_text("utf-8").splitlines()]
