"""The corruptions of CIFAR-10-C and ImageNet-C: 15 standard and 4 extra ones, with both published tables of severities.

>>> import numpy as np
>>> grey = np.full((1, 32, 32, 3), 128, np.uint8)
>>> corrupt(grey, "brightness", severity=2)[0, 0, 0].tolist()
[153, 153, 153]
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from gotta.data.corruptions import blur, digital, noise, spatter, weather
from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.inputs import check_images, check_index, check_seed, find_parameters
from gotta.data.corruptions.severities import EXTRA, SEVERITIES, STANDARD, TABLES, Parameters
from gotta.types import Images

__all__ = ["EXTRA", "SEVERITIES", "STANDARD", "TABLES", "corrupt"]

Corruption = Callable[[Images, Parameters, Draws], Images]

_CORRUPTIONS: dict[str, Corruption] = {
    "gaussian_noise": noise.gaussian_noise,
    "shot_noise": noise.shot_noise,
    "impulse_noise": noise.impulse_noise,
    "defocus_blur": blur.defocus_blur,
    "glass_blur": blur.glass_blur,
    "motion_blur": blur.motion_blur,
    "zoom_blur": blur.zoom_blur,
    "snow": weather.snow,
    "frost": weather.frost,
    "fog": weather.fog,
    "brightness": digital.brightness,
    "contrast": digital.contrast,
    "elastic_transform": digital.elastic_transform,
    "pixelate": digital.pixelate,
    "jpeg_compression": digital.jpeg_compression,
    "speckle_noise": noise.speckle_noise,
    "gaussian_blur": blur.gaussian_blur,
    "spatter": spatter.spatter,
    "saturate": digital.saturate,
}

_PIXELS_AT_ONCE = 2**16  # bounds the memory; larger pieces also fall out of the processor's cache


def corrupt(
    images: Images,
    name: str,
    severity: int,
    table: str = "cifar",
    seed: int = 0,
    index: ArrayLike | None = None,
) -> Images:
    """Corrupt uint8 images [N, H, W, 3]; the input is not changed.

    `index` names each image (its position by default): the random numbers of an image depend on seed, name, severity
    and its index only, so any batch, order or split of the same images gives the same pixels.
    """
    parameters, seed = find_parameters(name, severity, table), check_seed(seed)
    images = check_images(images)
    rows = check_index(index, len(images))
    piece = max(1, _PIXELS_AT_ONCE // (images.shape[1] * images.shape[2]))
    out = np.empty(images.shape, np.uint8)
    for start in range(0, len(images), piece):
        part = slice(start, start + piece)
        out[part] = _CORRUPTIONS[name](images[part], parameters, Draws(seed, name, int(severity), rows[part]))
    return out
