"""Levels that the mix of classes does not move."""

from typing import Literal

from torch import nn

from gotta.limits import require
from gotta.statistics.interface import statistics
from gotta.statistics.levels.class_statistics import ClassStatistics
from gotta.statistics.levels.levels import SHARED

Signatures = Literal["own", "shared"]


@statistics.register("class")
class Class(ClassStatistics):
    """Levels that follow a change of domain at once and that the mix of classes does not move. No rate to choose.

    `signatures="shared"`: the streams of a model learn one set of class signatures together, which takes fewer bytes.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", statistics=gotta.statistics.Class(signatures="shared"))
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    classes = True

    def __init__(self, signatures: Signatures = "own") -> None:
        require("signatures", signatures, Signatures)
        self.signatures = signatures

    def attach(self, net: nn.Module) -> None:
        super().attach(net)
        self.shared = SHARED if self.signatures == "shared" and self.sizes else ()
