"""Every figure that a table's runs have data for."""

from collections.abc import Callable, Sequence

from gotta.experiment.sweep.store import Run
from gotta.report.figures.cost import cost_figures
from gotta.report.figures.factors import factor_figures
from gotta.report.figures.figure import Figure
from gotta.report.figures.scaling import capacity_figures, epsilon_figures
from gotta.report.figures.stream import diagnostics_figures, stream_figures
from gotta.report.figures.wins import win_figures

Maker = Callable[[Sequence[Run]], list[Figure]]
OF_A_TABLE: tuple[Maker, ...] = (
    stream_figures,
    diagnostics_figures,
    epsilon_figures,
    factor_figures,
    cost_figures,
    win_figures,
)
OF_ALL: tuple[Maker, ...] = (capacity_figures,)  # across the tables of a report, which differ in it


def figures(runs: Sequence[Run], across: bool = False) -> list[Figure]:
    """The figures of one table, or those that go across all tables."""
    return [figure for make in (OF_ALL if across else OF_A_TABLE) for figure in make(runs)]
