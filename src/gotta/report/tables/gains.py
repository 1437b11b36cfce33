"""What a memory or a prior adds: paired differences to a baseline."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection
from dataclasses import replace
from itertools import permutations

from gotta.groups import group
from gotta.report.cells import MARKS, ORDER, Cell, Line, Table, of_difference
from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.panel import AXES, Entry, Panel, Place, at_best
from gotta.report.rows import NO_MEMORY, RUNNING, Row
from gotta.report.stored_run import Run
from gotta.report.tables.comparison import grid

BASELINES = {"none": NO_MEMORY, "running_statistics": RUNNING}
PRIOR = "prior"
PRIOR_SETTINGS = ("method.prior", "method.labels", "method.order_in_batch")
WITHOUT_PRIOR = {"deskew": "norm"}  # what a method that comes with a prior is without it, its statistics being the same


def gain_table(panel: Panel, baseline: Row = NO_MEMORY) -> Table:
    """Rows by methods: points of accuracy above the baseline in the same column; with other steps without interval."""
    found: dict[Place, Cell] = {}
    for column, rows in panel.methods.items():
        for row, entry in rows.items():
            base = (at_best(rows, baseline) if row.best_rates else None) or rows.get(baseline)
            if base is not None and base is not entry:
                cell = _cell(entry, difference(entry.runs, base.runs))
                fair = entry.steps == base.steps
                found[row, column] = cell if fair else replace(cell, interval=None, tied=False, other_steps=True)
    title = "Gain over no memory (points)" if baseline == NO_MEMORY else f"Gain over {baseline.short} (points)"
    tuned = any(at_best(rows, baseline) for rows in panel.methods.values())
    told = ["Rows at their best rate are compared with the baseline at its own."] if tuned else []
    return grid(panel, found, title, (*told, _explain(found.values())))


def prior_table(panel: Panel) -> Table:
    """Rows by columns with a prior: each cell less its twins; without lines where there is nothing to compare."""
    twins = find_twins(panel).items()
    found = {(entry.row, entry.column): _cell(entry, difference(entry.runs, bare)) for entry, bare in twins}
    told = "Each column against itself without the prior."
    return grid(panel, found, "Gain of the prior (points)", (told, _explain(found.values())))


def find_twins(panel: Panel) -> dict[Entry, list[Run]]:
    """For each cell with a prior the runs that differ from its own in the prior alone, if there are any."""
    bare = group((run for run in panel.runs if run.prior == "none"), _apart_from_prior)
    found = {}
    for entry in panel.entries:
        keys = dict.fromkeys(map(_apart_from_prior, entry.runs)) if entry.column.prior != "none" else ()
        found[entry] = [twin for key in keys for twin in bare.get(key, ())]
    return {entry: twins for entry, twins in found.items() if twins}


def _cell(entry: Entry, found: Difference) -> Cell:
    return replace(of_difference(found), runs=entry.accuracy.runs, uses_order=entry.column.uses_order)


def _explain(cells: Collection[Cell]) -> str:
    parts = ["Paired difference of accuracy on the same streams"]
    if any(cell.interval is not None for cell in cells):
        parts.append("± is its 95 % interval over other seeds and domains, uncorrected; ≈ is not significantly above 0")
    parts += ["In brackets: the range over domains, too few for an interval"] if any(c.range for c in cells) else []
    if any(cell.other_steps for cell in cells):
        parts.append("≠ takes steps of another size than the baseline, so the difference is of both")
    parts += [f"{ORDER} {MARKS[ORDER]}"] if any(cell.uses_order for cell in cells) else []
    parts += ["unpaired: not run on the same streams"] if any(cell.absent == "unpaired" for cell in cells) else []
    return ". ".join(parts) + "."


def _apart_from_prior(run: Run) -> str:
    """Everything that a run is besides its prior and its seed."""
    settings = {name: value for name, value in run.section(*AXES).items() if name not in PRIOR_SETTINGS}
    name = WITHOUT_PRIOR.get(run.spec.method.name, run.spec.method.name)
    return json.dumps([{**settings, "method.name": name}, run.spec.control], sort_keys=True)


WIN, TIE, LOSS = 1, 0, -1  # verdicts of a difference


def matrix_table(panel: Panel) -> Table:
    """Win/tie/loss of the row against the column; without rows where nothing is won.

    One game is one method over all its streams: a win if the paired difference is significant.
    """
    games: dict[tuple[Row, Row], Counter[int | None]] = defaultdict(Counter)
    for entries in panel.methods.values():
        for (a, first), (b, second) in permutations(entries.items(), 2):
            games[a, b][fair_difference(first.runs, second.runs).verdict] += 1
    rows = [row for row in panel.rows if any(row in entries for entries in panel.methods.values())]
    rows = rows if any(played[WIN] for played in games.values()) else []  # nothing but ties says nothing
    lines = [Line((a.label,), tuple(_game(games[a, b]) if a != b else Cell(absent="") for b in rows)) for a in rows]
    caption = (
        "Wins/ties/losses of the row against the column; one game is one method. A tie is a difference that is not "
        "significant (95 %, paired over seeds and domains). Rows that take other steps do not play each other.",
    )
    return Table("Win/tie/loss", ("memory",), tuple(row.label for row in rows), tuple(lines), caption)


def _game(played: Counter[int | None]) -> Cell:
    return Cell(absent=f"{played[WIN]}/{played[TIE]}/{played[LOSS]}")
