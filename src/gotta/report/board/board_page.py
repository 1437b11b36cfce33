"""The leaderboard as a folder of files that opens anywhere: one page, and the specs and protocols it links to."""

import re
from collections.abc import Sequence
from pathlib import Path

import gotta
from gotta.errors import GottaError
from gotta.experiment.recipe.protocol import content_hash, text_of
from gotta.experiment.spec.text import dump
from gotta.experiment.sweep.verified import OTHER, VERIFIED, read_verified
from gotta.files import write_atomically
from gotta.report.board.boards import Board, rank_runs
from gotta.report.page.webpage import curves, render, run_facts
from gotta.report.panel import place
from gotta.report.results import Results

SPECS, PROTOCOLS = "specs", "protocols"
SPEC_FILE = re.compile(r"[0-9a-f]{16}\.yaml")


def write_leaderboard(results: Results, to: Path) -> Path:
    """Write index.html, specs/ and protocols/; the path of the page."""
    boards, others = rank_runs(results.runs, find_verified(results))
    if not boards:
        raise GottaError(
            f"no run in '{results.root}' is of a protocol, so there is nothing to rank. See `gotta ls protocols`."
        )
    shown = [run for board in boards for run in board.panel.runs]
    for run in shown:
        write_atomically(to / SPECS / f"{run.id}.yaml", dump(run.stored.spec))
    for name in {board.protocol.name for board in boards}:
        write_atomically(to / PROTOCOLS / f"{name}.yaml", text_of(name))
    path = to / "index.html"
    write_atomically(path, board_page(results, boards, others))
    known = {f"{run.id}.yaml" for run in shown}
    for left in (to / SPECS).iterdir():  # of an earlier state of the runs
        if SPEC_FILE.fullmatch(left.name) and left.name not in known:
            left.unlink(missing_ok=True)
    return path


def find_verified(results: Results) -> set[str]:
    """The runs that `gotta verify` ran again, with the same numbers, as the file beside them says."""
    folder = results.root if results.root.is_dir() else results.root.parent
    found = read_verified(folder / VERIFIED, [run.stored for run in results.runs])
    return {id for id, one in found.items() if one.outcome != OTHER}


def board_page(results: Results, boards: Sequence[Board], others: int) -> str:
    """The page; `others` runs are of no protocol."""
    shown = {run.id: run for board in boards for run in board.panel.runs}
    facts = run_facts(place(shown.values()).whole)
    for id, run in shown.items():
        facts[id] |= {
            "spec": f"{SPECS}/{id}.yaml",
            "text": dump(run.stored.spec),
            "command": f"gotta run {SPECS}/{id}.yaml",
        }
    context = {
        "name": results.root.resolve().name,
        "count": len(shown),
        "boards": boards,
        "protocols": list({board.protocol.name: board.protocol for board in boards}.values()),
        "hashes": {board.protocol.name: content_hash(board.protocol.name)[:12] for board in boards},
        "others": others,
        "damaged": results.damaged,
        "version": gotta.__version__,
        "data": {"runs": facts, "recorded": [], "inside": [], "curves": curves()},
        "live": False,
    }
    return render(context, "board.html.j2")
