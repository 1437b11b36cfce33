"""Data sets of other libraries: anything that is indexed and gives an image with a label, corrupted when asked for."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from PIL import Image
from torch import Tensor

from gotta.data.content import Content
from gotta.data.dataset import Corrupting
from gotta.errors import GottaError
from gotta.types import Images, IntArray

PROBED = 16  # images that tell one version of a data set from another, beside all labels


class Items(Corrupting):
    """Images one by one from a function of their number, with labels. Noise depends on the number of an image alone."""

    def __init__(
        self,
        image: Callable[[int], Any],
        labels: Sequence[int] | IntArray,
        num_classes: int | None = None,
        table: str = "imagenet",
        seed: int = 0,
    ) -> None:
        super().__init__(np.asarray(labels, np.int64), num_classes, table, seed)
        self.image = image

    def content(self, domains: Sequence[str]) -> Iterator[Content]:
        rows = np.linspace(0, len(self.labels) - 1, min(PROBED, len(self.labels))).astype(np.int64)
        yield from (self.labels, self.read(rows))

    def read(self, rows: IntArray) -> Images:
        found = [to_pixels(self.image(int(row))) for row in rows]
        if len({pixels.shape for pixels in found}) > 1:
            sizes = sorted({pixels.shape[:2] for pixels in found})
            raise GottaError(f"images have different sizes: {sizes[0]} and {sizes[-1]}. Let a transform resize them.")
        return np.stack(found) if found else np.empty((0, 1, 1, 3), np.uint8)


def from_torch(data: Any, num_classes: int | None = None, table: str = "imagenet", seed: int = 0) -> Items:
    """A torch `Dataset` of (image, label): PIL images, arrays, or tensors from 0 to 1 that are not normalised.

    Labels are its `targets` or `labels` where it has them; else every item is read once.

    `data` is that data set, of `num_classes` classes; corruptions are of `table` and `seed`, as in `corrupt`.

    >>> import torch
    >>> from gotta.data import from_torch
    >>> data = torch.utils.data.TensorDataset(torch.rand(4, 3, 32, 32), torch.tensor([0, 1, 1, 0]))
    >>> from_torch(data).labels.tolist()
    [0, 1, 1, 0]
    """
    known = next((getattr(data, name) for name in ("targets", "labels") if hasattr(data, name)), None)
    labels = [int(data[row][1]) for row in range(len(data))] if known is None else [int(label) for label in known]
    return Items(lambda row: data[row][0], labels, num_classes, table, seed)


def from_huggingface(
    data: Any, image: str = "image", label: str = "label", table: str = "imagenet", seed: int = 0
) -> Items:
    """A `datasets.Dataset` of Hugging Face, by the names of its columns.

    `image` and `label` are those names; corruptions are of `table` and `seed`, as in `corrupt`.

    >>> from gotta.data import from_huggingface
    >>> class Two:  # in the place of `datasets.load_dataset(...)`
    ...     column_names, features = ["img", "label"], {"label": None}
    ...     def __getitem__(self, key):
    ...         return [1, 0] if key == "label" else {"img": [[0, 255], [255, 0]]}
    >>> from_huggingface(data=Two(), image="img").labels.tolist()
    [1, 0]
    """
    for column in (image, label):
        if column not in data.column_names:
            raise GottaError(f"the data set has no column '{column}'. It has {', '.join(data.column_names)}.")
    count = getattr(data.features[label], "num_classes", None)
    return Items(lambda row: data[row][image], data[label], count, table, seed)


def to_pixels(image: Any) -> Images:
    """An image [H, W, 3] of bytes, from PIL, an array, or a tensor [C, H, W]."""
    if isinstance(image, Image.Image):
        return np.asarray(image.convert("RGB"))
    pixels = image.numpy().transpose(1, 2, 0) if isinstance(image, Tensor) and image.ndim == 3 else np.asarray(image)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or pixels.shape[-1] not in (1, 3):
        raise GottaError(f"an image has the shape {pixels.shape}. Expected [H, W], [H, W, 3] or [3, H, W].")
    if pixels.dtype != np.uint8:
        if not (pixels.min() >= 0 and pixels.max() <= 1):
            told = f"an image has values from {pixels.min():.2f} to {pixels.max():.2f}"
            raise GottaError(f"{told}. Expected bytes, or 0 to 1: leave normalisation to the network.")
        pixels = np.round(pixels * 255).astype(np.uint8)
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy()
