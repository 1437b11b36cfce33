"""What tests of figures ask for."""

from itertools import product

from made_runs import made, panel_of

from gotta.report.figures.drawing import Text


def composed(gain, only=None):
    """A panel of cells of two factors of 5 values each; `gain(a, b)` is added to the accuracy."""
    return panel_of(composed_runs(gain)[:only])


def composed_runs(gain):
    return [
        made("composed", scores=(50.0 + gain(a, b),) * 4, memory__arguments={"evict": f"e{a}", "admit": f"a{b}"})
        for a, b in product(range(5), range(5))
    ]


def words(figure):
    return [mark.text for mark in figure.drawing.all_marks if isinstance(mark, Text)]
