"""Who wins against whom, as a matrix of squares."""

from collections.abc import Sequence

from gotta.report.figures.chart import clip, text_width
from gotta.report.figures.drawing import FAINT, GRID, INK, Box, Drawing, Text, marker
from gotta.report.figures.figure import MANY, WIDTH, Figure, best_rows, draws
from gotta.report.panel import Entry, Panel
from gotta.report.rows import Row
from gotta.report.tables.matrix import Outcomes, win_tie_loss

NARROWEST = 32.0  # pixels of a square in which counts can be read
WON, LOST = "#4393c3", "#d6804a"  # apart for colour-blind readers; the letters say it without colour


@draws("wins", position=60)
def win_figures(panel: Panel) -> list[Figure]:
    """One matrix over all methods and seeds."""
    rows: dict[Row, Entry] = {entry.row: entry for entry in panel.entries}
    left = 14 + max(text_width(_short(name), 12) for name in rows) if rows else 0.0
    kept, which = best_rows(rows, min(MANY, int((WIDTH - left - 8) // NARROWEST)))
    names, matrix = win_tie_loss(panel, only=kept)
    played = {pair: found for pair, found in matrix.items() if found.wins + found.ties + found.losses}
    if len(names) < 2 or not any(found.decided for found in played.values()):  # nothing but ties says nothing
        return []
    side = min(64.0, (WIDTH - left - 8) / len(names))
    tall = 34.0
    top = 12 + max(text_width(_short(name), 12) for name in names)
    title = "Wins, ties and losses"
    drawing = Drawing(left + side * len(names) + 8, top + tall * len(names) + 10, title, _words(names, played))
    for column, name in enumerate(names):
        drawing.add(Text(left + side * (column + 0.5) + 4, top - 6, _short(name), INK, 12, "start", upright=True))
    for row, name in enumerate(names):
        y = top + tall * row
        drawing.add(Text(left - 6, y + tall / 2 + 4, _short(name), INK, 12, "end"))
        for column, other in enumerate(names):
            x = left + side * column
            _square(drawing, x, y, side, tall, played.get((name, other)))
    caption = (
        "The row's wins/ties/losses against the column; a game is one method, and a difference that is not significant "
        "is a tie. A triangle points up where the row has more wins, down where more losses."
    )
    return [Figure(title, caption + which, drawing)]


def _square(drawing: Drawing, x: float, y: float, side: float, tall: float, found: Outcomes | None) -> None:
    if found is None:
        drawing.add(Box(x, y, side - 2, tall - 2, GRID, opacity=0.35))
        return
    games = found.wins + found.ties + found.losses
    lead = (found.wins - found.losses) / games
    colour = WON if lead > 0 else LOST
    shade = round(0.08 + 0.42 * abs(lead), 2) if lead else 0.0  # no colour where neither leads
    drawing.add(Box(x, y, side - 2, tall - 2, colour, GRID, opacity=shade))
    counts = f"{found.wins}/{found.ties}/{found.losses}"
    size = 12 if text_width(counts, 12) < side - 4 else 9
    drawing.add(Text(x + side / 2 - 1, y + tall / 2 + (0 if lead else 4), counts, INK, size, "middle"))
    if lead:
        drawing.add(*marker("up" if lead > 0 else "down", x + side / 2 - 1, y + tall - 9, FAINT, 4))


def _short(row: Row) -> str:
    return clip(row.short if row.is_control else row.label)


def _words(names: Sequence[Row], played: dict[tuple[Row, Row], Outcomes]) -> str:
    totals = {name: sum(found.wins for pair, found in played.items() if pair[0] == name) for name in names}
    best = max(totals, key=lambda name: totals[name])
    return f"Most wins: {best.label} with {totals[best]}."
