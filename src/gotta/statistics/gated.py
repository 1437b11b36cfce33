"""Levels that follow a change of domain at once."""

from gotta.statistics.interface import statistics
from gotta.statistics.levels.levelled import Levelled


@statistics.register("gated")
class Gated(Levelled):
    """Levels that follow a change of domain at once, fed by the predictions' own forwards. No rate to choose."""

    classes = False
