"""Traffic signs filmed from a passing car (GTSRB): a zip file with a sheet `<class>/<track>.png` for each sign."""

import io
import zipfile
from functools import partial
from pathlib import Path

import numpy as np

from gotta.data.archives import one_error, read_zip_member
from gotta.data.readers.clips import Clips, in_part, stored
from gotta.data.readers.pictures import decode
from gotta.errors import GottaError
from gotta.types import Images

LAYOUT = "a zip file of <class>/<track>.png, the square frames of a track side by side"


def is_sheets(path: Path) -> bool:
    return path.is_file() and zipfile.is_zipfile(path)


def read_sheets(path: str | Path, part: str = "all") -> Clips:
    """The tracks of the file, or of a part of its split, classes and tracks sorted by name; it is not unpacked."""
    path = Path(path)
    if not path.is_file():
        raise GottaError(f"no tracks at {path}. Expected {LAYOUT}.")
    way_out = f"Fetch it again; expected {LAYOUT}."
    with one_error(f"{path} is not a readable zip file", way_out), zipfile.ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if _is_sheet(name))
        if not names:
            raise GottaError(f"{path} holds no tracks. Expected {LAYOUT}.")
        classes = tuple(sorted({_class(name) for name in names}))
        label_of_track = np.array([classes.index(_class(name)) for name in names], np.int64)
        chosen = np.flatnonzero(in_part(label_of_track, classes, part))
        sheets = [_frames(f"{path}: {names[track]}", read_zip_member(archive, names[track])) for track in chosen]
    sides = sorted({sheet.shape[1] for sheet in sheets})
    if len(sides) > 1:
        raise GottaError(f"{path} holds frames of {sides[0]} and of {sides[-1]} pixels. Expected one size.")
    lengths = [len(sheet) for sheet in sheets]
    frames = partial(stored, np.concatenate(sheets))
    return Clips(frames, np.repeat(label_of_track[chosen], lengths), np.repeat(chosen, lengths), classes)


def _class(name: str) -> str:
    return name.split("/")[-2]


def _is_sheet(name: str) -> bool:
    parts = name.split("/")
    return len(parts) >= 2 and name.lower().endswith(".png") and not any(p.startswith((".", "__")) for p in parts)


def _frames(what: str, data: bytes) -> Images:
    """[T, S, S, 3] from a sheet of S x TS pixels."""
    sheet = np.asarray(decode(io.BytesIO(data), what))
    side, width = sheet.shape[:2]
    if width % side:
        raise GottaError(f"{what} is {width} x {side} pixels. Expected square frames side by side.")
    return np.ascontiguousarray(sheet.reshape(side, width // side, side, 3).swapaxes(0, 1))
