"""A folder of images by class: `<root>/<class>/<image>`, read whole."""

from pathlib import Path

import numpy as np

from gotta.data.readers.pictures import Fit, Pictures
from gotta.types import Images, IntArray


def image_folder(root: str | Path, size: int) -> tuple[Images, IntArray, list[str]]:
    """Images [N, size, size, 3], labels [N] and class names; the shorter side is fitted, the centre kept."""
    fit = Fit(size)
    pictures = Pictures.of(Path(root))
    return pictures.read(np.arange(len(pictures)), fit), pictures.labels, list(pictures.classes)
