"""Levels that follow a change of domain at once."""

from gotta.statistics.interface import statistics
from gotta.statistics.levels.class_statistics import ClassStatistics


@statistics.register("gated")
class Gated(ClassStatistics):
    """Levels that follow a change of domain at once, fed by the predictions' own forwards. No rate to choose."""

    classes = False
