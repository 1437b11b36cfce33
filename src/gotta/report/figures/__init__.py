"""The figures of a report, each for the data that it needs. One file is one kind, or two that share their drawing."""

from gotta.report.figures.drawing import INK, Drawing, Text
from gotta.report.figures.figure import WIDTH, Figure, draws, figures, is_figure_file
from gotta.report.panel import Panel

__all__ = ["INK", "WIDTH", "Drawing", "Figure", "Panel", "Text", "draws", "figures", "is_figure_file"]
