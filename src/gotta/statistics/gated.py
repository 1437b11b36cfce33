"""Levels that follow a change of domain at once."""

from gotta.statistics.interface import statistics
from gotta.statistics.levels.class_statistics import ClassStatistics


@statistics.register("gated")
class Gated(ClassStatistics):
    """Levels that follow a change of domain at once, fed by the predictions' own forwards. No rate to choose.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", statistics=gotta.statistics.Gated())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    classes = False
