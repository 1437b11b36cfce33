"""Statistics: what normalises a prediction in the BatchNorm layers of a network. One small file each."""

from gotta.statistics.batch import Batch
from gotta.statistics.by_class import Class
from gotta.statistics.gated import Gated
from gotta.statistics.interface import Statistics, statistics
from gotta.statistics.moments import Moments
from gotta.statistics.normalization import sample_moments, seen_before, tracked_norms
from gotta.statistics.running import Running
from gotta.statistics.source import Source

__all__ = [
    "Batch",
    "Class",
    "Gated",
    "Moments",
    "Running",
    "Source",
    "Statistics",
    "sample_moments",
    "seen_before",
    "statistics",
    "tracked_norms",
]
