"""A network and a data set that are small enough for a test of the real path to take a second."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from gotta.models.backbone import Input
from gotta.models.vit import VisionTransformer

GOLDEN = Path(__file__).parent / "golden"


class TinyNet(nn.Module):
    """The network of the golden trajectories, with any normalisation."""

    def __init__(self, norm=nn.BatchNorm2d, classes=10):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), norm(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 16, 3, stride=2, padding=1, bias=False), norm(16)
        self.fc = nn.Linear(16, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def golden_net(common):
    net = TinyNet()
    names = [name for name in common.files if name.startswith("weights.")]
    net.load_state_dict({name[len("weights.") :]: torch.from_numpy(np.array(common[name])) for name in names})
    return net


def seeded_net(norm=nn.BatchNorm2d, classes=10, seed=0):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return TinyNet(norm, classes).eval()


def seeded_transformer(classes=10, seed=0):
    """For images of 8 x 8 pixels."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return VisionTransformer(4, 12, 2, 2, 2.0, classes, Input(8)).eval()


def net_for(method):
    """A small network that the method takes."""
    return seeded_transformer() if method == "foa" else seeded_net()


class TinyData:
    """Noise images whose colour tells the class; a domain shifts the brightness."""

    domains = ("clean", "dark-5", "bright-5")
    num_classes = 3

    def __init__(self, per_class=20, size=8):
        self.labels = np.arange(per_class * self.num_classes) % self.num_classes
        rng = np.random.default_rng(0)
        self.pixels = rng.integers(60, 120, (len(self.labels), size, size, 3)).astype(np.uint8)
        self.pixels[np.arange(len(self.labels)), :, :, self.labels] += 60

    def images(self, domain, indices):
        shift = {"clean": 0, "dark-5": -50, "bright-5": 50}[domain]
        return (self.pixels[indices].astype(int) + shift).clip(0, 255).astype(np.uint8)
