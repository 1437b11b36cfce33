"""The statistics of the batch that is predicted."""

from dataclasses import dataclass

from torch import nn

from gotta.statistics.interface import Lent, Statistics, statistics
from gotta.statistics.normalization import batch_statistics


@statistics.register("batch")
@dataclass(frozen=True)
class Batch(Statistics):
    """Those of the batch that is predicted, towards which the network's own move by `follow`, unused.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", statistics=gotta.statistics.Batch())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    needs_batch = True
    follow: float = 0.0

    def predicting(self, net: nn.Module, moving: bool = True) -> Lent:
        return batch_statistics(net, self.follow if moving else 0.0)

    def training(self, net: nn.Module, moving: bool = True) -> Lent:
        return batch_statistics(net, 0.0)
