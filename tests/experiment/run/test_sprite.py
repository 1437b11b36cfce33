from base64 import b64decode
from io import BytesIO

import numpy as np
import torch
from PIL import Image

from gotta.experiment.run.memory_film import ACROSS, SIDE_LIMIT, data_uri, sprite, thumbnails


def test_every_image_becomes_a_small_square_in_colour():
    for shape in ((3, 32, 32), (1, 8, 8), (3, 64, 96)):
        (small,) = thumbnails(torch.rand(1, *shape))
        assert (small.shape, small.dtype) == ((SIDE_LIMIT, SIDE_LIMIT, 3), np.uint8)
    (same,) = thumbnails(torch.tensor([0.0, 0.5, 1.0]).view(1, 3, 1, 1).expand(1, 3, 32, 32))
    assert (same == [0, 128, 255]).all()


def test_pictures_stand_in_their_order_line_by_line():
    pictures = [np.full((SIDE_LIMIT, SIDE_LIMIT, 3), k, np.uint8) for k in range(ACROSS + 2)]
    jpeg, across = sprite(pictures)
    sheet = np.asarray(Image.open(BytesIO(jpeg))).astype(int)
    assert across == ACROSS
    assert sheet.shape == (2 * SIDE_LIMIT, ACROSS * SIDE_LIMIT, 3)
    middles = sheet[SIDE_LIMIT // 2 :: SIDE_LIMIT, SIDE_LIMIT // 2 :: SIDE_LIMIT, 0].ravel()[: len(pictures)]
    assert np.abs(middles - np.arange(len(pictures))).max() <= 3  # JPEG
    assert b64decode(data_uri(jpeg).partition(",")[2]) == jpeg
