"""A memory of moments: levels that follow the rows of a memory, which holds no sample but what the layers saw of it."""

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn

from gotta.errors import NoEffect
from gotta.state import Reader, count
from gotta.statistics.interface import statistics
from gotta.statistics.levels.class_statistics import ClassStatistics
from gotta.statistics.levels.levels import STATE, Watched
from gotta.statistics.levels.look import exactly
from gotta.statistics.normalization import tracked_norms
from gotta.types import MemoryBatch

FEW = 2.0  # rows that the level as it is counts for in the vote of a class


@statistics.register("moments")
class Moments(ClassStatistics):
    """Levels that follow a change of domain at once, and then the rows of a memory. The memory holds two numbers per
    channel of each sample, taken in the forward that predicts it, and not the sample.

    Each class has one vote, the mean of its rows. What few rows leave of a vote, and the votes of absent classes, go to
    the level as it is. The pace is that of class statistics.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "deskew", "fps", capacity=16, statistics=gotta.statistics.Moments())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    classes = keeps_moments = True
    state: ClassVar[Mapping[str, Reader]] = {**STATE, "unread": count}

    def attach(self, net: nn.Module) -> None:
        if not tracked_norms(net):
            raise NoEffect(
                "statistics='moments' are those of BatchNorm layers, and this model has none with statistics of its "
                "own. Leave them out: without BatchNorm, deskew is its prior."
            )
        super().attach(net)
        self.unread = 0  # samples since the memory was read
        self._forget()

    def _forget(self) -> None:
        self.moments = self.mean.new_zeros(0, 2 * len(self.mean)), self.mean.new_zeros(0, dtype=torch.long)
        self.outdated = False

    def learn(self, label: Tensor, num_classes: int) -> None:
        before = self.jumps, self.away
        self._forget()
        super().learn(label, num_classes)
        self.outdated = (self.jumps, self.away) != before  # earlier rows are of another domain

    def _follow(self, watched: Watched, found: Tensor, group: Tensor) -> None:
        super()._follow(watched, found, group)
        self.unread += len(group)
        counts = torch.ones_like(group, dtype=torch.bool) if watched.counts is None else watched.counts
        self.moments = found.transpose(0, 1).flatten(1), counts.nonzero()[:, 0]

    def _move_levels(self, average: Tensor, expected: Tensor, count: int) -> None:
        """They move when the memory is read."""

    @torch.no_grad()
    def read(self, held: MemoryBatch) -> None:
        """Move towards the rows of a memory, by as many samples as came since the last time."""
        samples, self.unread = self.unread, 0
        if not self.away or not samples:
            return
        with exactly(self.mean):
            rows, group = held.x.to(self.mean), self._signed(held.label, len(self.mix))
            of_group = rows.new_zeros(len(self.mix)).index_add_(0, group, rows.new_ones(len(rows)))
            vote = of_group / (of_group + FEW) * (1 / len(of_group) if self.shares is None else self.shares)  # [K]
            of_row = (vote / of_group.clamp_min(1))[group]
            mean, square = (of_row / of_row.sum() @ rows).chunk(2)
            var = torch.maximum(square - mean.square(), self.least_var)
            rate = self._pace(samples) * vote.sum()
            self.mean, self.var = self.mean.lerp(mean, rate), self.var * (var / self.var) ** rate
            self.cut()
