"""A folder of images by class: `<root>/<class>/<image>`."""

from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from gotta.errors import GottaError
from gotta.types import Images, IntArray

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".webp"}


def image_folder(root: str | Path, size: int) -> tuple[Images, IntArray, list[str]]:
    """Images [N, size, size, 3], labels [N] and class names; the shorter side is fitted, the centre kept."""
    root = Path(root)
    classes = sorted(path.name for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    files = [
        (path, label)
        for label, name in enumerate(classes)
        for path in sorted((root / name).iterdir())
        if path.suffix.lower() in SUFFIXES
    ]
    if not files:
        raise GottaError(
            f"no images at {root}. Expected {root}/<class>/<image> with one of {', '.join(sorted(SUFFIXES))}."
        )
    images = np.stack([_fitted(path, size) for path, _ in files])
    return images, np.array([label for _, label in files], np.int64), classes


def _fitted(path: Path, size: int) -> Images:
    try:
        with Image.open(path) as image:
            rgb = image.convert("RGB")
    except (UnidentifiedImageError, OSError) as error:
        raise GottaError(f"{path} is not a readable image: {error}. Remove or replace it.") from None
    scale = size / min(rgb.size)
    width, height = (max(size, round(side * scale)) for side in rgb.size)
    left, top = (width - size) // 2, (height - size) // 2
    rgb = rgb.resize((width, height), Image.Resampling.BILINEAR).crop((left, top, left + size, top + size))
    return np.asarray(rgb)
