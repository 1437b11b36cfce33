"""The leaderboard inside the site: the page that `gotta leaderboard results` writes, and one that leads to it."""

from pathlib import Path

EMPTY = "No results are kept in `results/` yet."
LINK = '<p><a href="../leaderboard/index.html"><strong>Open the leaderboard</strong></a></p>'


def write_board(results: Path, extra: Path) -> str:
    """Write the leaderboard of the kept runs into a folder that the site copies; the text of the page before it."""
    extra.mkdir(parents=True, exist_ok=True)
    words = EMPTY
    if any(results.glob("*.jsonl")):
        from gotta.experiment.sweep.kept import Kept
        from gotta.report.board.board_page import write_leaderboard
        from gotta.report.results import read_results

        write_leaderboard(read_results(Kept(results)), extra / "leaderboard")
        words = f"It ranks every kept run by its protocol, with intervals, costs and controls.\n\n{LINK}"
    return f"# Leaderboard\n\n{words}\n"
