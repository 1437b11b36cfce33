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
from gotta.data.corruptions.between import find_at
from gotta.data.corruptions.draws import Draws
from gotta.data.corruptions.inputs import check_images, check_index, check_seed
from gotta.data.corruptions.severities import EXTRA, SEVERITIES, STANDARD, TABLES, Parameters
from gotta.types import Images

__all__ = ["EXTRA", "SEVERITIES", "STANDARD", "TABLES", "corrupt"]

FAMILIES = (noise, blur, weather, digital, spatter)
_CORRUPTIONS: dict[str, Callable[[Images, Parameters, Draws], Images]] = {
    name: getattr(family, name) for family in FAMILIES for name in (*STANDARD, *EXTRA) if hasattr(family, name)
}
_PIXELS_AT_ONCE = 2**16  # bounds the memory; larger pieces also fall out of the processor's cache


def corrupt(
    images: Images,
    name: str,
    severity: float,
    table: str = "cifar",
    seed: int = 0,
    index: ArrayLike | None = None,
) -> Images:
    """Corrupt uint8 `images` [N, H, W, 3]; the input is not changed.

    `index` names each image (its position by default): the random numbers of an image depend on `seed`, name, severity
    and its index only, so any batch, order or split of the same images gives the same pixels. A `severity` is 1 to 5;
    those of CCC go from 0, which leaves an image alone, to 5 in quarters.

    `name` is one of `STANDARD` or `EXTRA`. `table` is `"cifar"` or `"imagenet"`, the two published sets of parameters.

    >>> import numpy as np
    >>> from gotta.data import corrupt
    >>> corrupt(np.zeros((2, 32, 32, 3), np.uint8), "fog", severity=5).shape
    (2, 32, 32, 3)
    """
    (parameters, key), seed = find_at(name, severity, table), check_seed(seed)
    images = check_images(images)
    rows = check_index(index, len(images))
    out = np.empty(images.shape, np.uint8) if severity else np.array(images)
    piece = max(1, _PIXELS_AT_ONCE // (images.shape[1] * images.shape[2]))
    for start in range(0, len(images) if severity else 0, piece):
        part = slice(start, start + piece)
        out[part] = _CORRUPTIONS[name](images[part], parameters, Draws(seed, name, key, rows[part]))
    return out
