"""Where runs stand: which share a table, and in it their rows and columns, found from what varies in their specs."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

from gotta.experiment.spec.controls import FORMER
from gotta.experiment.spec.dotted import tell_apart
from gotta.methods import methods
from gotta.methods.settings import BY_LEVEL
from gotta.report.rates import AT_BEST, beside_usual, told_rates
from gotta.report.setting_words import describe
from gotta.report.stored_run import Run

MEMORIES = ("none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd")
METHODS = ("source", "norm", "rotta", "note", "sar", "eata", "cotta", "tent", "pl", "shot", "energy")
NONE, SOURCE = "none", "source"
CONTROL = "control: "
CONTROLS = {
    "running_statistics": f"{CONTROL}running statistics",
    "same_samples": f"{CONTROL}same samples per step",
    "true_kcenter": f"{CONTROL}k-centre by true labels",
    "true_cstu": f"{CONTROL}CSTU by true labels",
    "true_pbrs": f"{CONTROL}PBRS by true labels",
    "domain_statistics": f"{CONTROL}statistics of the whole domain",
}
LEVELS = tuple(f"{name} statistics" for name in BY_LEVEL)  # rows without a memory
# what makes two runs incomparable; anything else that differs becomes another row or column
SETUP = ("data", "stream", "model")
AXES = ("memory", "pairing", "method", "regime", "guard")  # the earlier ones explain first
COLUMN_AXIS = "method."
# settings that a whole table shares: where runs of one cell differ in them, each value has a table of its own
TABLE_AXES = ("memory.capacity", "regime.")
PRIOR = "none", "ema", "sticky", "patient"  # in this order
TOLD = "stream.boundaries"  # whether a prior is told where clips begin: the samples are the same
Setting = tuple[tuple[str, Any], ...]
Runs = tuple[Run, ...]
Order = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Panel:
    """The runs of one table at their places. `cells[row, column]` are the runs of a cell, none where nobody ran it.

    `settings` tell the panel from the others of the same folder. `row_axes` and `column_axes` are, for each row and
    column that is split, the settings that tell runs apart which would otherwise share a cell.
    """

    settings: Setting
    runs: Runs
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Runs]
    row_axes: Mapping[str, Sequence[str]]
    column_axes: Mapping[str, Sequence[str]]

    @property
    def title(self) -> str:
        return ", ".join(describe(name, value) for name, value in self.settings)

    @property
    def recipe(self) -> str:
        """What the runs were made for, if they say so."""
        return " and ".join(dict.fromkeys(run.recipe for run in self.runs if run.recipe))

    @property
    def controls(self) -> tuple[str, ...]:
        """The rows that are there to compare with, not to win."""
        return tuple(row for row in self.rows if is_control(row))

    @cached_property
    def priors(self) -> dict[str, str]:
        """The prior of each column, `none` included: a column has one."""
        return {column: runs[0].prior for column, _, runs in self.filled}

    @cached_property
    def methods(self) -> dict[str, dict[str, Runs]]:
        """Column, row, runs: in the order of the table, without the source model and what nobody ran."""
        return {
            column: {row: self.cells[row, column] for row in self.rows if self.cells[row, column]}
            for column in self.columns
            if not is_source(column)
        }

    @cached_property
    def filled(self) -> list[tuple[str, str, Runs]]:
        """Column, row and runs of every cell that was run, column by column."""
        places = product(self.columns, self.rows)
        return [(column, row, runs) for column, row in places if (runs := self.cells[row, column])]


@dataclass(frozen=True, eq=False)
class Placed:
    """Runs in the panels that can be read as tables, and all in one, for what goes across tables."""

    whole: Panel
    panels: tuple[Panel, ...]


def place(runs: Iterable[Run]) -> Placed:
    """One panel for each combination of data, model, stream, capacity and regime that was run."""
    listed = tuple(runs)
    groups = _setups(listed)
    outer = _varying(groups)
    found = []
    for group in groups:
        shared: Setting = tuple((name, _setup(group[0]).get(name)) for name in outer)
        found += [((*shared, *setting), members) for setting, members in _split(group)]
    found.sort(key=lambda panel: [_order(value) for _, value in panel[0]])
    whole = _panel((), listed)
    if found == [((), listed)]:
        return Placed(whole, (whole,))
    return Placed(whole, tuple(_panel(*panel) for panel in found))


def is_control(row: str) -> bool:
    return row.startswith(CONTROL)


def is_memory(row: str) -> bool:
    """Is it a row of runs with a memory, and no control?"""
    return not is_control(row) and not f"{row} ".startswith(tuple(f"{name} " for name in (NONE, *LEVELS)))


def is_source(column: str) -> bool:
    """The source model, by itself or with a prior: no memory can change it."""
    return column == SOURCE or column.startswith(f"{SOURCE}, ")


def cell_name(column: str, row: str) -> str:
    """A cell in words: the method with its memory, statistics or control."""
    if row == NONE:
        return f"{column} without a memory" if column == "norm" else "the source model" if column == SOURCE else column
    return f"{column}, {row}" if is_control(row) else f"{column} + {row}"


def row_name(run: Run) -> str:
    """The row without the settings that tell it from others of its name."""
    if run.spec.method.name == SOURCE:  # it never adapts: whatever memory it ran with, it is the same run
        return NONE
    control = run.spec.control
    if control:
        control = FORMER.get(control, control)
        return CONTROLS.get(control, f"{CONTROL}{control.replace('_', ' ')}")
    if run.spec.memory.name == NONE and _has_levels(run):
        return f"{run.spec.method.statistics} statistics"
    return run.spec.memory.name


def _has_levels(run: Run) -> bool:
    """Does it predict with class or gated statistics, which are not its method's own?"""
    name, chosen = run.spec.method.name, run.spec.method.statistics
    return chosen in BY_LEVEL and name in methods.names() and methods.get(name).native.source != chosen


def column_name(run: Run) -> str:
    """The column without the settings that tell it from others of its name: the method, and the prior if it has one.

    Predictions with a prior use the order of samples, so they share no column with others.
    """
    return run.spec.method.name + _prior_in_words(run)


def _prior_in_words(run: Run) -> str:
    if run.prior == "none":
        return ""
    order = "" if run.spec.method.order_in_batch in (None, "time") else " per batch"
    return f", {run.prior} prior{order}" + (", clips hidden" if run.settings.get(TOLD) == "hidden" else "")


def _panel(settings: Setting, runs: Runs) -> Panel:
    names = _row_names(runs)
    row_axes, column_axes = _axes(runs, names)
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    rows: dict[str, Order] = {}
    columns: dict[str, Order] = {}
    for run in runs:
        row, column = names[run.id], column_name(run)
        row_label = _label(run, row, row_axes.get(row, ()))
        method_label = _label(run, run.spec.method.name, column_axes.get(column, ()))
        column_label = method_label + _prior_in_words(run)
        known = tuple(CONTROLS.values()) if is_control(row) else MEMORIES
        place = len(known) + 1 if row in LEVELS else _position(row_name(run), known)
        rows[row_label] = is_control(row), place, _natural(row_label), row_label
        position = _position(run.spec.method.name, METHODS), _natural(method_label), _position(run.prior, PRIOR)
        columns[column_label] = *position, column_label
        cells[row_label, column_label].append(run)
    all_rows, all_columns = (tuple(sorted(names, key=lambda name: names[name])) for names in (rows, columns))
    complete = {key: tuple(cells.get(key, ())) for key in product(all_rows, all_columns)}
    return Panel(settings, runs, all_rows, all_columns, complete, row_axes, column_axes)


def _row_names(runs: Runs) -> dict[str, str]:
    """The rows by the ids of the runs; those at their best rate are apart from the same at the rate of the paper."""
    apart = beside_usual(runs)
    names = {run.id: row_name(run) + (AT_BEST if run.id in apart else "") for run in runs}
    best = {row: told_rates([run for run in runs if names[run.id] == row]) for row in names.values() if AT_BEST in row}
    return {id: f"{row} ({best[row]})" if row in best else row for id, row in names.items()}


def _setups(runs: Runs) -> list[Runs]:
    """The runs in groups that may share a table, in the order of their first run."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[json.dumps(set_up_of(run), sort_keys=True)].append(run)
    return [part for group in groups.values() for part in _by_version(tuple(group))]


def _by_version(runs: Runs) -> list[Runs]:
    """Apart by the version of gotta if one cell has several, so that these are not averaged; else together."""
    cells: dict[str, set[str]] = defaultdict(set)
    versions: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        cells[json.dumps([run.parts(*AXES), run.spec.control], sort_keys=True)].add(run.version)
        versions[run.version].append(run)
    mixed = any(len(found) > 1 for found in cells.values())
    return [tuple(group) for group in versions.values()] if mixed else [runs]


def set_up_of(run: Run) -> dict[str, Any]:
    """What runs of one table have in common: data, stream and model."""
    return {name: value for name, value in run.parts(*SETUP).items() if name != TOLD}


def _setup(run: Run) -> dict[str, Any]:
    return {**set_up_of(run), "gotta": run.version}


def _varying(groups: Sequence[Runs]) -> list[str]:
    """The settings of data, model and stream that tell the set-ups apart, without what follows from others."""
    known = [_setup(group[0]) for group in groups]
    in_spec = {name for group in groups for name in group[0].section(*SETUP)}
    found = []
    for name in dict.fromkeys(name for setting in known for name in setting):
        # what a run of an earlier format does not tell, its format tells
        values = {repr(setting.get(name)) for setting in known if name in in_spec or name in setting}
        found += [name] if len(values) > 1 else []
    ordered = sorted(found, key=lambda name: (not name.endswith(".name"), name.endswith("hash"), name == "gotta"))
    chosen = tell_apart([{name: setting.get(name) for name in ordered} for setting in known])
    return [name for name in found if name in chosen]


def _split(runs: Runs) -> list[tuple[Setting, Runs]]:
    """The runs by the settings that a whole table shares."""
    told = dict.fromkeys(axis for _, _, axes in _rivals(runs, _row_names(runs)) for axis in axes)
    axes = [axis for axis in told if axis.startswith(TABLE_AXES)]
    values = [sorted({_value(run, axis) for run in runs if not _indifferent(run, axis)}, key=_order) for axis in axes]
    found = []
    for combination in product(*values):
        setting = tuple(zip(axes, combination, strict=True))
        members = _members(runs, setting)
        if any(all(_value(run, axis) == value for axis, value in setting) for run in members):
            found.append((setting, members))
    return found


def _members(runs: Runs, setting: Setting) -> Runs:
    """The runs with this setting, and for cells it cannot change, such as the source model, any run there is."""
    chosen = {run.id for run in runs if all(_value(run, axis) == value for axis, value in setting)}
    have = {_cell_and_seed(run) for run in runs if run.id in chosen}
    for run in runs:
        close = all(_value(run, axis) == value or _indifferent(run, axis) for axis, value in setting)
        if close and _cell_and_seed(run) not in have:
            chosen.add(run.id)
            have.add(_cell_and_seed(run))
    return tuple(run for run in runs if run.id in chosen)


def _indifferent(run: Run, axis: str) -> bool:
    """Can this setting not change the run's numbers?"""
    return is_source(column_name(run)) or (axis == "memory.capacity" and row_name(run) in (NONE, *LEVELS))


def _axes(runs: Runs, names: Mapping[str, str]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each row and each column the settings in which runs of the same cell differ."""
    rows: dict[str, list[str]] = defaultdict(list)
    columns: dict[str, list[str]] = defaultdict(list)
    for row, column, axes in _rivals(runs, names):
        for axis in axes:
            known = columns[column] if axis.startswith(COLUMN_AXIS) else rows[row]
            known += [axis] if axis not in known else []
    return dict(rows), dict(columns)


def _rivals(runs: Runs, names: Mapping[str, str]) -> list[tuple[str, str, list[str]]]:
    """Row, column and the settings that tell the runs apart, for each cell with several, of one seed or of many."""
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in runs:
        if not is_source(column_name(run)):
            cells[names[run.id], column_name(run)].append(run)
    return [(*cell, tell_apart([run.parts(*AXES) for run in rivals])) for cell, rivals in cells.items()]


def _cell_and_seed(run: Run) -> tuple[str, str, int]:
    return row_name(run), column_name(run), run.seed


def _label(run: Run, name: str, axes: Sequence[str]) -> str:
    """With the settings that tell it from others; where statistics have no rate, none is told."""
    told = [(axis, _value_of(run, axis)) for axis in axes]
    return " ".join(
        [name, *(f"{axis.split('.')[-1]}={value}" for axis, value in told if (axis, value) != ("method.rate", "none"))]
    )


def _value_of(run: Run, axis: str) -> Any:
    """The value of a setting, or the default that a run without it has."""
    value = run.made_of.get(axis)
    if value is None:
        value = run.made_of.get(f"{axis.partition('.')[0]}.default.{axis.rpartition('.')[2]}")
    return "none" if value is None else value


def _value(run: Run, axis: str) -> Any:
    value = run.made_of.get(axis)
    return tuple(value) if isinstance(value, list) else value


def _order(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if number else (1, 0.0, str(value))


def _position(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)


def _natural(text: str) -> Order:
    """Sorts `capacity=8` before `capacity=32` and `rate=0.05` before `rate=0.1`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)  # text, number, text, ...
    return tuple((0, float(part), "") if i % 2 else (1, 0.0, part) for i, part in enumerate(parts))
