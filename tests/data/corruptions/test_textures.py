import numpy as np

from gotta.data.corruptions import textures


def test_textures_are_periodic_and_of_ice():
    full = textures.full_textures()
    assert len(full) == 5
    for one in full:
        step = np.abs(np.diff(one.astype(int), axis=0)).mean()
        seam = np.abs(one[0].astype(int) - one[-1]).mean()
        assert seam < 1.5 * step
        red, _, blue = one.reshape(-1, 3).mean(0)
        assert blue > red
    assert textures.frost_textures(0.2, 32, 32)[0].shape == (150, 200, 3)
    assert textures.frost_textures(0.2, 300, 300)[0].shape[0] > 300
