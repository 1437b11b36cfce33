"""Traffic signs filmed from a passing car (GTSRB): a zip file with a sheet `<class>/<track>.png` for each sign."""

import zipfile
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from gotta.data.readers.clips import Clips, in_part, stored
from gotta.data.readers.pictures import Pictures
from gotta.errors import GottaError
from gotta.types import Images


def is_sheets(path: Path) -> bool:
    return path.is_file() and zipfile.is_zipfile(path)


def read_sheets(path: str | Path, part: str = "all") -> Clips:
    """The tracks of the file, or of a part of its split, classes and tracks sorted by name; it is not unpacked."""
    pictures = Pictures.of(Path(path))
    chosen = np.flatnonzero(in_part(pictures.labels, pictures.classes, part))
    sheets = [_frames(f"{path}: {pictures.names[track]}", pictures.image(track)) for track in chosen.tolist()]
    sides = sorted({sheet.shape[1] for sheet in sheets})
    if len(sides) > 1:
        raise GottaError(f"{path} holds frames of {sides[0]} and of {sides[-1]} pixels. Expected one size.")
    lengths = [len(sheet) for sheet in sheets]
    frames = partial(stored, np.concatenate(sheets))
    return Clips(frames, np.repeat(pictures.labels[chosen], lengths), np.repeat(chosen, lengths), pictures.classes)


def _frames(what: str, image: Image.Image) -> Images:
    """[T, S, S, 3] from a sheet of S x TS pixels."""
    sheet = np.asarray(image)
    side, width = sheet.shape[:2]
    if width % side:
        raise GottaError(f"{what} is {width} x {side} pixels. Expected square frames side by side.")
    return np.ascontiguousarray(sheet.reshape(side, width // side, side, 3).swapaxes(0, 1))
