"""What a memory adds: paired differences to a named baseline."""

from gotta.errors import unknown
from gotta.report.pairs import Difference, difference, samples_per_step
from gotta.report.panel import CONTROL, CONTROLS, NONE, Panel, is_control
from gotta.report.statistics import LEVEL, NO_INTERVAL
from gotta.report.tables.captions import order_notes
from gotta.report.tables.cells import Cell, Row, Table, of_difference

BASELINES = {"none": NONE, "running_statistics": CONTROLS["running_statistics"]}
Gains = dict[tuple[str, str], Difference]


def gains(panel: Panel, baseline: str = NONE, level: float = LEVEL) -> Gains:
    """The paired difference of each row and column to the baseline in the same column; `baseline` is a row's name."""
    name = BASELINES.get(baseline, baseline)
    if name not in panel.rows:
        raise unknown("baseline", baseline, panel.rows)
    return {
        (row, column): difference(rows[row], rows[name], level)
        for row in panel.rows
        for column, rows in panel.methods.items()
        if row != name and row in rows and name in rows
    }


def has_baseline(panel: Panel, baseline: str) -> bool:
    return any(BASELINES.get(baseline, baseline) in rows for rows in panel.methods.values())


def gain_table(panel: Panel, baseline: str = NONE) -> Table:
    """Rows by methods: points of accuracy above the baseline, with intervals over seeds and domains."""
    found = gains(panel, baseline)
    name = BASELINES.get(baseline, baseline)
    title = "Gain over no memory (points)" if name == NONE else f"Gain over {name.removeprefix(CONTROL)} (points)"
    caption = tuple(caption_of(found) + _steps(panel, name))
    return table_of(panel, found, title, caption)


def table_of(panel: Panel, found: Gains, title: str, caption: tuple[str, ...]) -> Table:
    """The rows and columns that have a difference, in the order of the panel."""
    columns = tuple(column for column in panel.columns if any(key[1] == column for key in found))
    rows = tuple(
        Row(
            (row,),
            tuple(of_difference(found[row, column]) if (row, column) in found else Cell() for column in columns),
            not is_control(row),
        )
        for row in panel.rows
        if any(key[0] == row for key in found)
    )
    return Table(title, ("memory",), columns, rows, caption, order_notes(panel, columns))


def _steps(panel: Panel, baseline: str) -> list[str]:
    """Where the baseline takes other steps, a difference is of both, and the table says so."""
    cells = [(rows[row], rows[baseline]) for rows in panel.methods.values() if baseline in rows for row in rows]
    sizes = {(samples_per_step(ours), samples_per_step(theirs)) for ours, theirs in cells}
    if all(ours == theirs for ours, theirs in sizes):
        return []
    return [
        "The baseline adapts after another number of samples than some rows, so differences are of the memory and "
        "of the size of a step; the control with the same samples per step tells the two apart."
    ]


def caption_of(found: Gains) -> list[str]:
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
