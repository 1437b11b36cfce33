"""A folder of images by class: `<root>/<class>/<image>`."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from gotta.errors import GottaError
from gotta.types import Images, IntArray

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".webp"}


def image_folder(root: str | Path, size: int) -> tuple[Images, IntArray, list[str]]:
    """Images [N, size, size, 3], labels [N] and class names; the shorter side is fitted, the centre kept."""
    root = Path(root)
    if size < 1:
        raise GottaError(f"images cannot have a side of {size} pixels. Expected 1 or more.")
    files = _files(root)
    if not any(files.values()):
        raise GottaError(
            f"no images at {root}. Expected {root}/<class>/<image> with one of {', '.join(sorted(SUFFIXES))}."
        )
    empty = [name for name, found in files.items() if not found]
    if empty:
        raise GottaError(f"no images in {', '.join(str(root / name) for name in empty)}. Fill or remove these classes.")
    images = np.stack([fit(open_image(path), size) for found in files.values() for path in found])
    labels = np.repeat(np.arange(len(files)), [len(found) for found in files.values()])
    return images, labels.astype(np.int64), list(files)


def _files(root: Path) -> dict[str, list[Path]]:
    """The image files by class, both sorted; hidden folders are no classes."""
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return {
        folder.name: sorted(path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES)
        for folder in folders
        if folder.is_dir() and not folder.name.startswith(".")
    }


def open_image(path: Path) -> Image.Image:
    """A picture in RGB, turned as its camera was held."""
    try:
        with Image.open(path) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    # Pillow says "broken PNG" with a SyntaxError.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise GottaError(f"{path} is not a readable image: {error}. Remove or replace it.") from None


def fit(rgb: Image.Image, size: int) -> Images:
    """The shorter side fitted, the centre kept: size x size pixels."""
    scale = size / min(rgb.size)
    width, height = (max(size, round(side * scale)) for side in rgb.size)
    left, top = (width - size) // 2, (height - size) // 2
    rgb = rgb.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + size, top + size))
    return np.asarray(rgb)
