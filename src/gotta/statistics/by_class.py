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
    """

    classes = True

    def __init__(self, signatures: Signatures = "own") -> None:
        require("signatures", signatures, Signatures)
        self.signatures = signatures

    def attach(self, net: nn.Module) -> None:
        super().attach(net)
        self.shared = SHARED if self.signatures == "shared" and self.sizes else ()
