"""Who wins against whom: every pair of memories over methods and streams."""

from collections import Counter, defaultdict
from itertools import permutations

from gotta.report.cells import Cell, Line, Table
from gotta.report.pairs import fair_difference
from gotta.report.panel import Entry, Panel
from gotta.report.rows import Row

WIN, TIE, LOSS = 1, 0, -1


def matrix_table(panel: Panel) -> Table:
    """Win/tie/loss of the row against the column; without rows where nothing is won.

    One game is one method over all its streams: a win if the paired difference is significant.
    """
    games: dict[tuple[Row, Row], Counter[int]] = defaultdict(Counter)
    for entries in panel.methods.values():
        for (a, first), (b, second) in permutations(entries.items(), 2):
            outcome = _play(first, second)
            games[a, b].update([] if outcome is None else [outcome])
    rows = [row for row in panel.rows if any(row in entries for entries in panel.methods.values())]
    rows = rows if any(played[WIN] for played in games.values()) else []  # nothing but ties says nothing
    lines = [Line((a.label,), tuple(_cell(games[a, b]) if a != b else Cell(absent="") for b in rows)) for a in rows]
    caption = (
        "Wins/ties/losses of the row against the column; one game is one method. A tie is a difference that is not "
        "significant (95 %, paired over seeds and domains). Rows that take other steps do not play each other.",
    )
    return Table("Win/tie/loss", ("memory",), tuple(row.label for row in rows), tuple(lines), caption)


def _play(first: Entry, second: Entry) -> int | None:
    """None if streams or the size of steps differ, or there is too little to judge by."""
    result = fair_difference(first.runs, second.runs)
    if result.estimate is None or not result.judged:
        return None
    if not result.distinguishable:
        return TIE
    return WIN if result.estimate.mean > 0 else LOSS


def _cell(played: Counter[int]) -> Cell:
    return Cell(absent=f"{played[WIN]}/{played[TIE]}/{played[LOSS]}")
