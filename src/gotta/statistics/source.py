"""The statistics of training."""

from dataclasses import dataclass

from torch import Tensor, nn

from gotta.statistics.interface import Statistics, statistics
from gotta.statistics.normalization import own_levels


@statistics.register("source")
@dataclass(frozen=True)
class Source(Statistics):
    """The source model's own."""

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor]:
        return own_levels(net)
