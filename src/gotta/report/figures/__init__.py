"""The figures of a report, each for the data that it needs."""

from gotta.report.figures.all import figures
from gotta.report.figures.figure import Figure

__all__ = ["Figure", "figures"]
