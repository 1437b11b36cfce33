"""Many small pictures as one image, for a page that asks for nothing."""

import base64
from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor

SIDE_LIMIT, ACROSS, QUALITY = 32, 40, 82
Picture = NDArray[np.uint8]  # [H, W, 3]


def thumbnails(x: Tensor) -> list[Picture]:
    """Images [N, C, H, W] in [0, 1] as small squares."""
    pixels = (x.detach().float().cpu().clamp(0, 1) * 255).round().byte().permute(0, 2, 3, 1).numpy()
    return [_square(image) for image in pixels]


def sprite(pictures: Sequence[Picture]) -> tuple[bytes, int]:
    """The pictures in lines of `across`, as JPEG; and `across`."""
    across = min(ACROSS, max(1, len(pictures)))
    lines = max(1, -(-len(pictures) // across))
    sheet = np.zeros((lines * SIDE_LIMIT, across * SIDE_LIMIT, 3), np.uint8)
    for k, picture in enumerate(pictures):
        top, left = k // across * SIDE_LIMIT, k % across * SIDE_LIMIT
        sheet[top : top + SIDE_LIMIT, left : left + SIDE_LIMIT] = picture
    buffer = BytesIO()
    Image.fromarray(sheet).save(buffer, "JPEG", quality=QUALITY, subsampling=0)
    return buffer.getvalue(), across


def data_uri(jpeg: bytes) -> str:
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"


def _square(image: NDArray[np.uint8]) -> Picture:
    colour = image if image.shape[2] == 3 else np.repeat(image[:, :, :1], 3, axis=2)
    if colour.shape[:2] == (SIDE_LIMIT, SIDE_LIMIT):
        return colour
    size = (SIDE_LIMIT, SIDE_LIMIT)
    smooth = Image.Resampling.NEAREST if max(colour.shape[:2]) < SIDE_LIMIT else Image.Resampling.LANCZOS
    return np.asarray(Image.fromarray(colour).resize(size, smooth))
