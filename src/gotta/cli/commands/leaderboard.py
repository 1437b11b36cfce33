"""`gotta leaderboard`: finished runs ranked by protocol, as a page."""

from pathlib import Path


def leaderboard(runs: Path, out: Path = Path("site")) -> None:
    """Rank finished runs by protocol: method, memory and prior, with intervals, cost, controls and published numbers.

    Writes index.html, which opens offline, and beside it the specs of the runs and the protocols.

    Example: `gotta leaderboard results --out site`

    Arguments:
        runs: Lines that `gotta keep` or `gotta submit` wrote, or a folder of runs.

    Options:
        out: The folder of the page.
    """
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.report.board import write_leaderboard
    from gotta.report.results import read_results

    print(f"Leaderboard: {write_leaderboard(read_results(existing_runs(runs)), out)}")
