"""What a memory adds: paired differences to a named baseline."""

from collections import defaultdict
from collections.abc import Sequence

from gotta.errors import unknown
from gotta.experiment.sweep.store import Run
from gotta.report.pairs import Difference, difference
from gotta.report.places import CONTROLS, SOURCE, places
from gotta.report.statistics import LEVEL, NO_INTERVAL
from gotta.report.tables.cells import Cell, Row, Table, of_difference

BASELINES = {"none": "none", "running_statistics": CONTROLS["running_statistics"]}
Gains = dict[tuple[str, str], Difference]


def gains(runs: Sequence[Run], baseline: str = "none", level: float = LEVEL) -> Gains:
    """The paired difference of each row and column to the baseline in the same column; `baseline` is a row's name."""
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    order: dict[tuple[str, str], tuple[object, ...]] = {}
    for run, place in zip(runs, places(runs), strict=True):
        cells[place.row, place.column].append(run)
        order[place.row, place.column] = (place.row_order, place.column_order)
    known = {row for row, _ in cells}
    name = BASELINES.get(baseline, baseline)
    if name not in known:
        raise unknown("baseline", baseline, known)
    return {
        (row, column): difference(cells[row, column], cells[name, column], level)
        for row, column in sorted(cells, key=lambda key: order[key])
        if row != name and column != SOURCE and cells.get((name, column))
    }


def has_baseline(runs: Sequence[Run], baseline: str) -> bool:
    return any(place.row == BASELINES.get(baseline, baseline) for place in places(runs) if place.column != SOURCE)


def gain_table(runs: Sequence[Run], baseline: str = "none") -> Table:
    """Rows by methods: points of accuracy above the baseline, with intervals over seeds and domains."""
    found = gains(runs, baseline)
    name = BASELINES.get(baseline, baseline)
    known = dict.fromkeys(place.column for place in sorted(places(runs), key=lambda place: place.column_order))
    columns = [column for column in known if any(key[1] == column for key in found)]
    rows = [
        Row(
            (row,),
            tuple(of_difference(found[row, column]) if (row, column) in found else Cell() for column in columns),
            not row.startswith("control: "),
        )
        for row in dict.fromkeys(row for row, _ in found)
    ]
    title = "Gain over no memory (points)" if name == "none" else f"Gain over {name.removeprefix('control: ')} (points)"
    return Table(title, ("memory",), tuple(columns), tuple(rows), tuple(_caption(found)))


def _caption(found: Gains) -> list[str]:
    estimates = [gain.estimate for gain in found.values() if gain.estimate is not None]
    covers = list(dict.fromkeys(estimate.covers for estimate in estimates))
    lines = [
        "Paired difference of accuracy on the same streams, with its 95 % interval. ≈: cannot be told from zero. "
        "Each interval stands for itself; they are not corrected for being many."
    ]
    known = [text for text in covers if not text.startswith(NO_INTERVAL)]
    if known:
        lines.append(f"The interval covers: {'; or '.join(covers)}.")
    elif covers:
        lines = [f"Difference of accuracy on the same stream; there is {'; or '.join(covers)}."]
    refused = [f"{column} + {row}, {reason}" for (row, column), gain in found.items() for reason in gain.refused]
    shown = "; ".join(refused[:4]) + (f"; and {len(refused) - 4} more" if len(refused) > 4 else "")
    return lines + ([f"Left out because they cannot be paired: {shown}."] if refused else [])
