"""Who wins against whom: every pair of memories over methods and streams."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

from gotta.report.cells import Cell, Line, Table
from gotta.report.pairs import fair_difference
from gotta.report.panel import Entry, Panel
from gotta.report.rows import Row


@dataclass(frozen=True)
class Outcomes:
    """How often the first wins, ties with, and loses against the second."""

    wins: int = 0
    ties: int = 0
    losses: int = 0

    @property
    def flipped(self) -> "Outcomes":
        return Outcomes(self.losses, self.ties, self.wins)

    @property
    def decided(self) -> bool:
        return self.wins + self.losses > 0


Matrix = dict[tuple[Row, Row], Outcomes]


def win_tie_loss(panel: Panel, only: Collection[Row] | None = None) -> tuple[list[Row], Matrix]:
    """The rows in their usual order, all or only these, and the outcomes of each ordered pair.

    One game is one method over all its streams: a win if the paired difference is significant.
    """
    chosen = [row for row in panel.rows if only is None or row in only]
    games: dict[tuple[Row, Row], list[int]] = defaultdict(list)
    for rows in panel.methods.values():
        for first, second in combinations([row for row in chosen if row in rows], 2):
            game = _game(rows[first], rows[second])
            games[first, second] += [] if game is None else [game]
    names = [row for row in chosen if any(row in rows for rows in panel.methods.values())]
    matrix: Matrix = {}
    for (first, second), played in games.items():
        matrix[first, second] = Outcomes(played.count(1), played.count(0), played.count(-1))
        matrix[second, first] = matrix[first, second].flipped
    return names, matrix


def matrix_table(panel: Panel) -> Table:
    """Win/tie/loss of the row against the column."""
    names, matrix = win_tie_loss(panel)
    if not any(outcomes.decided for outcomes in matrix.values()):  # nothing but ties says nothing
        return Table("Win/tie/loss", ("memory",), (), ())
    rows = [Line((a.label,), tuple(_cell(matrix.get((a, b)) if a != b else None) for b in names)) for a in names]
    caption = (
        "Wins/ties/losses of the row against the column; one game is one method. A tie is a difference that is not "
        "significant (95 %, paired over seeds and domains). Rows that take other steps do not play each other.",
    )
    return Table("Win/tie/loss", ("memory",), tuple(row.label for row in names), tuple(rows), caption)


def _game(first: Entry, second: Entry) -> int | None:
    """1, 0 or -1; None if streams or the size of steps differ, or there is too little to judge by."""
    result = fair_difference(first.runs, second.runs)
    if result.estimate is None or not result.judged:
        return None
    if not result.distinguishable:
        return 0
    return 1 if result.estimate.mean > 0 else -1


def _cell(outcomes: Outcomes | None) -> Cell:
    return Cell(absent=f"{outcomes.wins}/{outcomes.ties}/{outcomes.losses}" if outcomes else "")
