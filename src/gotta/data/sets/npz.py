"""Images and labels in a file of numpy's."""

from pathlib import Path

import numpy as np

from gotta.data.archives import reading_error
from gotta.data.dataset import DATASETS, Corrupted
from gotta.data.home import find
from gotta.errors import GottaError


@DATASETS.register("npz")
def npz(path: str, num_classes: int | None = None, table: str = "cifar", seed: int = 0) -> Corrupted:
    """An .npz file with the arrays `images` [N, H, W, 3] of bytes and `labels` [N]; corrupted when asked for."""
    file = find("an .npz file of images and labels", path)
    images, labels = read_npz(Path(file))
    return Corrupted(images, labels, num_classes, table, seed)


def read_npz(path: Path) -> tuple[np.ndarray, np.ndarray]:
    expected = "Expected an .npz with 'images' and 'labels'."
    with reading_error(f"'{path}' cannot be used", expected), np.load(path, allow_pickle=False) as arrays:
        images, labels = arrays["images"], arrays["labels"]
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8 or labels.shape != images.shape[:1]:
        told = f"'{path}' has images {images.dtype}{list(images.shape)} and labels {list(labels.shape)}"
        raise GottaError(f"{told}. Expected images uint8[N, H, W, 3] and labels [N].")
    return images, labels.astype(np.int64)
