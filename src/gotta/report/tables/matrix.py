"""Who wins against whom: every pair of memories over methods and streams."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

from gotta.report.pairs import difference
from gotta.report.panel import Panel
from gotta.report.statistics import LEVEL
from gotta.report.stored_run import Run
from gotta.report.tables.captions import order_notes
from gotta.report.tables.cells import Cell, Row, Table


@dataclass(frozen=True)
class Outcomes:
    """How often the first wins, cannot be told from, and loses against the second."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @property
    def flipped(self) -> "Outcomes":
        return Outcomes(self.losses, self.ties, self.wins)


Matrix = dict[tuple[str, str], Outcomes]


def win_tie_loss(panel: Panel, level: float = LEVEL, only: Collection[str] | None = None) -> tuple[list[str], Matrix]:
    """The rows in their usual order, all or only these, and the outcomes of each ordered pair.

    One game is one method on one stream: a win if the difference over its domains can be told from zero at `level`.
    """
    games: dict[tuple[str, int], dict[str, Run]] = defaultdict(dict)
    for column, rows in panel.methods.items():
        for row, runs in rows.items():
            for run in runs if only is None or row in only else ():
                games[column, run.seed].setdefault(row, run)
    names = [row for row in panel.rows if any(row in game for game in games.values())]
    matrix: Matrix = {}
    for first, second in combinations(names, 2):
        played = [_game(game[first], game[second], level) for game in games.values() if {first, second} <= game.keys()]
        wins, losses = sum(game > 0 for game in played if game is not None), sum(g < 0 for g in played if g is not None)
        matrix[first, second] = Outcomes(wins, sum(game == 0 for game in played), losses)
        matrix[second, first] = matrix[first, second].flipped
    return names, matrix


def matrix_table(panel: Panel) -> Table:
    """Win/tie/loss of the row against the column."""
    names, matrix = win_tie_loss(panel)
    rows = [Row((a,), tuple(_cell(matrix[a, b]) if a != b else Cell(absent="") for b in names)) for a in names]
    caption = (
        "Wins/ties/losses of the row against the column; one game is one method on one stream (seed). A tie is a "
        "difference that cannot be told from zero over the domains of that stream (95 %, paired).",
    )
    return Table("Win/tie/loss", ("memory",), tuple(names), tuple(rows), caption, order_notes(panel))


def _game(first: Run, second: Run, level: float) -> int | None:
    """1, 0 or -1; None if the two did not meet the same stream, or one domain leaves nothing to judge by."""
    result = difference([first], [second], level)
    if result.estimate is None or not result.judged:
        return None
    if not result.distinguishable:
        return 0
    return 1 if result.estimate.mean > 0 else -1


def _cell(outcomes: Outcomes) -> Cell:
    return Cell(absent=f"{outcomes.wins}/{outcomes.ties}/{outcomes.losses}")
