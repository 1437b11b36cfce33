"""The figures of a report, each for the data that it needs. One file is one kind, or two that share their drawing."""

from gotta.report.figures.figure import Figure, draws, figures, is_figure_file

__all__ = ["Figure", "draws", "figures", "is_figure_file"]
