"""A moving average that starts at the source's."""

from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

from gotta.limits import Share, check_fields
from gotta.statistics.interface import Lent, Statistics, statistics
from gotta.statistics.normalization import batch_statistics, own_levels


@statistics.register("running")
@dataclass(frozen=True)
class Running(Statistics):
    """An average that moves by `rate` with every forward of what `fed_by` names, the test batches or the memory's.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> statistics = gotta.statistics.Running(fed_by="batch", rate=0.1)
    >>> gotta.adapt(net, "norm", statistics=statistics)(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    fed_by: Literal["batch", "memory"] = "memory"
    rate: Share = 0.05

    def __post_init__(self) -> None:
        check_fields(self)

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor]:
        return own_levels(net)

    def training(self, net: nn.Module, moving: bool = True) -> Lent:
        return batch_statistics(net, self.rate if moving and self.fed_by == "memory" else 0.0)

    def feeding(self, net: nn.Module) -> Lent:
        return batch_statistics(net, self.rate)
