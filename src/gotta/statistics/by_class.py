"""Levels that the mix of classes does not move."""

from gotta.statistics.interface import statistics
from gotta.statistics.levels.levelled import Levelled


@statistics.register("class")
class Class(Levelled):
    """Levels that follow a change of domain at once and that the mix of classes does not move. No rate to choose."""

    classes = True
