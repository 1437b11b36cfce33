"""The statistics of training."""

from dataclasses import dataclass

from gotta.statistics.interface import Statistics, statistics


@statistics.register("source")
@dataclass(frozen=True)
class Source(Statistics):
    """The source model's own."""
