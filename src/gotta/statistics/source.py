"""The statistics of training."""

from dataclasses import dataclass

from torch import Tensor, nn

from gotta.statistics.interface import Statistics, statistics
from gotta.statistics.normalization import own_levels


@statistics.register("source")
@dataclass(frozen=True)
class Source(Statistics):
    """The source model's own.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", statistics=gotta.statistics.Source())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor]:
        return own_levels(net)
