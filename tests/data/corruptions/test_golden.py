"""Agreement with what the published generator produced: exact pixels, and statistics over many images."""

import json
from pathlib import Path

import numpy as np
import pytest

from gotta.data.corruptions import EXTRA, SEVERITIES, STANDARD, corrupt

GOLDEN = Path(__file__).parents[2] / "golden" / "corruptions"
STATISTICS = json.loads((GOLDEN / "cifar_c_stats.json").read_text())
EXACT = [f"{name}/{severity}" for name in STANDARD + EXTRA for severity in (1, 3, 5)]
EXACT = [
    key
    for key in EXACT
    if key.split("/")[0]
    in {
        "defocus_blur",
        "zoom_blur",
        "brightness",
        "contrast",
        "pixelate",
        "jpeg_compression",
        "gaussian_blur",
        "saturate",
    }
]
BANDS = ((1, 4), (4, 8), (8, 12), (12, 17))


@pytest.fixture(scope="module")
def published():
    with np.load(GOLDEN / "cifar_c_exact.npz", allow_pickle=False) as file:
        return dict(file)


def spectrum(images):
    """Mean power of the grey image, its mean removed, in four bands of frequency."""
    grey = images.mean(3)
    power = np.abs(np.fft.fft2(grey - grey.mean((1, 2), keepdims=True))) ** 2
    cycles = np.fft.fftfreq(32) * 32
    radius = np.hypot(cycles[:, None], cycles[None, :])
    return np.array([power[:, (radius >= low) & (radius < high)].mean() for low, high in BANDS])


def test_all_golden_entries_are_known(published):
    assert set(published) == {*EXACT, "clean"}
    assert len(EXACT) == 24
    assert set(STATISTICS["stats"]) == {f"{name}/{severity}" for name in STANDARD + EXTRA for severity in SEVERITIES}


@pytest.mark.parametrize("key", EXACT)
def test_pixels(key, published):
    name, severity = key.split("/")
    ours = corrupt(published["clean"], name, int(severity)).astype(int)
    assert (np.abs(ours - published[key]) <= 1).mean() >= 0.99


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", [n for n in STANDARD + EXTRA if f"{n}/1" not in EXACT])
def test_statistics_of_sixteen_images(name, severity, published):
    """The published figures are over 200 images, of which 16 are here.

    So changes are compared rather than levels, averaged over several seeds, and the standard error is that of 16.
    """
    clean, theirs = published["clean"], STATISTICS["stats"][f"{name}/{severity}"]
    ours = np.concatenate([corrupt(clean, name, severity, seed=seed) for seed in range(6)]).astype(float)
    level, power = (8, 0.40) if name == "frost" else (3, 0.15)
    shift = ours.mean((0, 1, 2)) - clean.mean((0, 1, 2))
    assert np.abs(shift - (np.array(theirs["mean"]) - STATISTICS["clean"]["mean"])).max() < level
    spread = ours.std((0, 1, 2)) - clean.std((0, 1, 2))
    assert np.abs(spread - (np.array(theirs["std"]) - STATISTICS["clean"]["std"])).max() < level
    ratio = spectrum(ours) / spectrum(clean)
    wanted = np.array(theirs["spectrum"]) / STATISTICS["clean"]["spectrum"]
    assert np.abs(ratio / wanted - 1).max() < power
    difference = np.abs(ours - np.tile(clean, (6, 1, 1, 1))).mean()
    share = 0.25 if name == "frost" else 0.05
    allowed = share * theirs["mad"] + 3 * theirs["mad_sem"] * np.sqrt(200 / 16)
    assert abs(difference - theirs["mad"]) < allowed
