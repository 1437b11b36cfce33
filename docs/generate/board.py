"""The leaderboard inside the site: the page that `gotta leaderboard results` writes, and one that leads to it."""

from collections.abc import Sequence
from pathlib import Path

from gotta.experiment.sweep.kept import Kept
from gotta.report.board import Board, Place, rank_runs, write_leaderboard
from gotta.report.results import read_results

EMPTY = "No results are kept in `results/` yet."
WORDS = """\
It ranks every kept run with the runs of the same protocol, data, network and capacity. The first three of each.
An entry with » uses the order of samples or the mix of a batch:
"""
PAGE = "../leaderboard/index.html"
LINK = f'<p><a href="{PAGE}"><strong>Open the leaderboard</strong></a>: all entries, intervals, costs and controls.</p>'


def write_board(results: Path, extra: Path) -> str:
    """Write the leaderboard of the kept runs into a folder that the site copies; the text of the page before it."""
    extra.mkdir(parents=True, exist_ok=True)
    words = EMPTY
    if any(results.glob("*.jsonl")):
        found = read_results(Kept(results))
        write_leaderboard(found, extra / "leaderboard")
        words = f"{WORDS}\n{LINK}\n\n{summarise([board for board in rank_runs(found.runs)[0] if board.whole])}"
    return f"# Leaderboard\n\n{words}\n"


def summarise(boards: Sequence[Board]) -> str:
    """A table with the first three of each board."""
    lines = ["| protocol and set-up | first | second | third |", "|---|---|---|---|"]
    for board in boards:
        ranked = sorted((place for place in board.places if place.rank is not None), key=_order)[:3]
        cells = [_told(place) for place in ranked] + [""] * (3 - len(ranked))
        lines.append(f"| **{board.protocol.name}**: {board.title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _order(place: Place) -> tuple[bool, int]:
    return place.entry.column.uses_order, place.rank or 0


def _told(place: Place) -> str:
    mark = " »" if place.entry.column.uses_order else ""
    return f"{place.entry.name}: {place.score.number} %{mark}"
