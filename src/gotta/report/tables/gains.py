"""What a memory adds: paired differences to a named baseline."""

from collections.abc import Mapping
from dataclasses import replace

from gotta.errors import unknown
from gotta.report.pairs import Difference, difference, samples_per_step
from gotta.report.panel import CONTROL, CONTROLS, NONE, Panel, Runs, is_control
from gotta.report.rates import at_best, without_rate
from gotta.report.statistics import LEVEL, NO_INTERVAL
from gotta.report.tables.cells import Cell, Row, Table, of_difference

BASELINES = {"none": NONE, "running_statistics": CONTROLS["running_statistics"]}
Gains = dict[tuple[str, str], Difference]


def gains(panel: Panel, baseline: str = NONE, level: float = LEVEL) -> Gains:
    """The paired difference of each row and column to the baseline in the same column; `baseline` is a row's name."""
    name = BASELINES.get(baseline, baseline)
    if name not in panel.rows:
        raise unknown("baseline", baseline, panel.rows)
    return {
        (row, column): difference(rows[row], rows[base], level)
        for row in panel.rows
        for column, rows in panel.methods.items()
        if row in rows and (base := _baseline(rows, name, row)) not in (None, row)
    }


def _baseline(rows: Mapping[str, Runs], name: str, row: str) -> str | None:
    """The baseline of a row at its best rate is at its best rate too, where it has one."""
    own = [other for other in rows if at_best(other) and without_rate(other) == name] if at_best(row) else []
    return own[0] if own else name if name in rows else None


def has_baseline(panel: Panel, baseline: str) -> bool:
    return any(BASELINES.get(baseline, baseline) in rows for rows in panel.methods.values())


def gain_table(panel: Panel, baseline: str = NONE) -> Table:
    """Rows by methods: points of accuracy above the baseline, with intervals over seeds and domains."""
    found = gains(panel, baseline)
    name = BASELINES.get(baseline, baseline)
    columns = [column for column in panel.columns if any(key[1] == column for key in found)]
    rows = [
        Row(
            (row,),
            tuple(_cell(panel, name, row, column, found.get((row, column))) for column in columns),
            not is_control(row),
        )
        for row in dict.fromkeys(row for row, _ in found)
    ]
    title = "Gain over no memory (points)" if name == NONE else f"Gain over {name.removeprefix(CONTROL)} (points)"
    caption = _caption(found) + _steps(panel, name) + _rates(panel, name)
    return Table(title, ("memory",), tuple(columns), tuple(rows), tuple(caption))


def _cell(panel: Panel, name: str, row: str, column: str, found: Difference | None) -> Cell:
    """Without interval or verdict where the baseline takes steps of another size."""
    if found is None:
        return Cell()
    rows = panel.methods[column]
    base = _baseline(rows, name, row)
    fair = base is not None and samples_per_step(rows[row]) == samples_per_step(rows[base])
    shown = of_difference(found)
    return shown if fair else replace(shown, interval=None, tied=False)


def _rates(panel: Panel, name: str) -> list[str]:
    theirs = [row for row in panel.rows if at_best(row) and without_rate(row) == name]
    return ["Rows at their best rate are compared with the baseline at its own."] if theirs else []


def _steps(panel: Panel, baseline: str) -> list[str]:
    """Where the baseline takes other steps, a difference is of both, and the table says so."""
    cells = [(rows[row], rows[baseline]) for rows in panel.methods.values() if baseline in rows for row in rows]
    sizes = {(samples_per_step(ours), samples_per_step(theirs)) for ours, theirs in cells}
    if all(ours == theirs for ours, theirs in sizes):
        return []
    return [
        "The baseline adapts after another number of samples than some rows, so differences are of the memory and "
        "of the size of a step and stand without an interval; the control with the same samples per step tells the two "
        "apart."
    ]


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
