"""Where runs stand: which share a table, and in it their rows and columns, found from what varies in their specs."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from gotta.experiment.spec.best_rates import best_rates
from gotta.experiment.spec.dotted import tell_apart
from gotta.groups import group
from gotta.methods import methods
from gotta.report.cells import Cell, measure, number
from gotta.report.rows import BOUNDARIES, BY_LEVEL, Column, Row, Settings, column_of, name_cell, row_of, sortable
from gotta.report.setting_words import describe
from gotta.report.stored_run import Run, samples_per_step

# what makes two runs incomparable; anything else that differs becomes another row or column
SETUP = ("data", "stream", "model")
AXES = ("memory", "pairing", "method", "regime", "guard")  # the earlier ones explain first
COLUMN_AXIS = "method."
# settings that a whole table shares: where runs of one cell differ in them, each value has a table of its own
TABLE_AXES = ("memory.capacity", "regime.")
Runs = tuple[Run, ...]
Place = tuple[Row, Column]


@dataclass(frozen=True, eq=False)
class Entry:
    """The runs of one cell. Each of its numbers is computed once."""

    row: Row
    column: Column
    runs: Runs

    @property
    def name(self) -> str:
        return name_cell(self.column, self.row)

    @cached_property
    def accuracy(self) -> Cell:
        return measure(self.runs, number("accuracy"))

    @property
    def mean(self) -> float:
        return self.accuracy.value or 0.0

    @property
    def shown(self) -> str:
        return f"{self.accuracy.number} %"

    @property
    def is_ranked(self) -> bool:
        """No controls, not the source model, and nothing that has no effect."""
        return not (self.row.is_control or self.column.is_source or self.accuracy.no_effect)

    @property
    def is_about_memories(self) -> bool:
        """Does it belong to the comparison of memories, and not to that of statistics and priors?"""
        method = self.runs[0].spec.method
        return not self.column.uses_order and method.statistics not in BY_LEVEL

    @property
    def steps(self) -> tuple[int, ...]:
        return samples_per_step(self.runs)

    @property
    def rate(self) -> float:
        """Of its running statistics; 0 where there is none."""
        return self.runs[0].spec.method.rate or 0.0

    @property
    def at_best_rate(self) -> bool:
        return bool(self.row.best_rates) or all(map(is_best, self.runs))


Entries = Mapping[Row, Entry]


@dataclass(frozen=True, eq=False)
class Panel:
    """The runs of one table at their places: `cells` has the entries that were run.

    `settings` tell the panel from the others of the same folder.
    """

    settings: Settings
    runs: Runs
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    cells: Mapping[Place, Entry]

    @property
    def title(self) -> str:
        return ", ".join(describe(name, value) for name, value in self.settings)

    @property
    def recipe(self) -> str:
        """What the runs were made for, if they say so: the newest title of each recipe."""
        named = group((run for run in self.runs if run.recipe), lambda run: str(run.stored.recipe.get("name")))
        newest = [sorted(runs, key=lambda run: run.stored.finished or 0.0)[-1] for runs in named.values()]
        return " and ".join(dict.fromkeys(run.recipe for run in newest))

    @cached_property
    def entries(self) -> list[Entry]:
        """Every cell that was run, column by column."""
        places = product(self.columns, self.rows)
        return [self.cells[row, column] for column, row in places if (row, column) in self.cells]

    @cached_property
    def methods(self) -> dict[Column, dict[Row, Entry]]:
        """In the order of the table, without the source model."""
        columns = group((entry for entry in self.entries if not entry.column.is_source), lambda entry: entry.column)
        return {column: {entry.row: entry for entry in entries} for column, entries in columns.items()}

    @property
    def source(self) -> Entry | None:
        """The source model by itself."""
        return next((entry for entry in self.entries if entry.column.is_bare_source), None)


@dataclass(frozen=True, eq=False)
class Placed:
    """Runs in the panels that can be read as tables, and all in one, for what goes across tables."""

    whole: Panel
    panels: tuple[Panel, ...]


def place(runs: Iterable[Run]) -> Placed:
    """One panel for each combination of data, model, stream, capacity and regime that was run."""
    listed = tuple(runs)
    set_ups = _setups(listed)
    outer = _varying(set_ups)
    found = []
    for alike in set_ups:
        shared: Settings = tuple((name, _setup(alike[0]).get(name)) for name in outer)
        found += [((*shared, *setting), members) for setting, members in _split(alike)]
    found.sort(key=lambda panel: [sortable(value) for _, value in panel[0]])
    whole = _panel((), listed)
    return Placed(whole, (whole,) if found == [((), listed)] else tuple(_panel(*panel) for panel in found))


def at_best(rows: Entries, row: Row) -> Entry | None:
    """The row at its best rate, where it has one beside that at the default rate."""
    return next((entry for other, entry in rows.items() if other.best_rates and other.usual == row), None)


def _panel(settings: Settings, runs: Runs) -> Panel:
    rows = _rows(runs)
    axes = _axes(runs, rows)

    def place_of(run: Run) -> Place:
        row, column = rows[run.id], column_of(run)
        own = replace(row, settings=_told(run, axes[row]))
        return own, replace(column, settings=_told(run, axes[column]))

    found = {place: Entry(*place, tuple(members)) for place, members in group(runs, place_of).items()}
    all_rows = sorted({row for row, _ in found}, key=lambda row: row.position)
    all_columns = sorted({column for _, column in found}, key=lambda column: column.position)
    return Panel(settings, runs, tuple(all_rows), tuple(all_columns), found)


def _rows(runs: Runs) -> dict[str, Row]:
    """The rows by the ids of the runs; those at their best rate are apart from the same at the default rate."""
    rows = {run.id: row_of(run) for run in runs}
    for row, members in group(beside_usual(runs), row_of).items():
        rates = dict.fromkeys((run.spec.method.name, run.spec.method.rate or 0.0) for run in members)
        rows |= {run.id: replace(row, best_rates=tuple(rates)) for run in members}
    return rows


def _setups(runs: Runs) -> list[Runs]:
    """The runs in groups that may share a table, in the order of their first run."""
    groups = group(runs, lambda run: json.dumps(set_up_of(run), sort_keys=True))
    return [part for members in groups.values() for part in _by_version(tuple(members))]


def _by_version(runs: Runs) -> list[Runs]:
    """Apart by the version of gotta if one cell has several, so that these are not averaged; else together."""
    cells = group(runs, lambda run: json.dumps([run.parts(*AXES), run.spec.control], sort_keys=True))
    mixed = any(len({run.version for run in members}) > 1 for members in cells.values())
    return list(map(tuple, group(runs, lambda run: run.version).values())) if mixed else [runs]


def set_up_of(run: Run) -> dict[str, Any]:
    """What runs of one table have in common: data, stream and model."""
    return {name: value for name, value in run.parts(*SETUP).items() if name != BOUNDARIES}


def _setup(run: Run) -> dict[str, Any]:
    return {**set_up_of(run), "gotta": run.version}


def _varying(set_ups: Sequence[Runs]) -> list[str]:
    """The settings of data, model and stream that tell the set-ups apart, without what follows from others."""
    known = [_setup(runs[0]) for runs in set_ups]
    in_spec = {name for runs in set_ups for name in runs[0].section(*SETUP)}
    found = []
    for name in dict.fromkeys(name for setting in known for name in setting):
        values = {repr(setting.get(name)) for setting in known if name in in_spec or name in setting}
        found += [name] if len(values) > 1 else []
    ordered = sorted(found, key=lambda name: (not name.endswith(".name"), name.endswith("hash"), name == "gotta"))
    chosen = tell_apart([{name: setting.get(name) for name in ordered} for setting in known])
    return [name for name in found if name in chosen]


def _split(runs: Runs) -> list[tuple[Settings, Runs]]:
    """The runs by the settings that a whole table shares."""
    told = dict.fromkeys(axis for _, _, axes in _rivals(runs, _rows(runs)) for axis in axes)
    axes = [axis for axis in told if axis.startswith(TABLE_AXES)]
    values = [sorted({_value(run, axis) for run in runs if not _indifferent(run, axis)}, key=sortable) for axis in axes]
    known = {tuple(_value(run, axis) for axis in axes) for run in runs}
    settings = [tuple(zip(axes, chosen, strict=True)) for chosen in product(*values) if chosen in known]
    return [(setting, _members(runs, setting)) for setting in settings]


def _members(runs: Runs, setting: Settings) -> Runs:
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
    return column_of(run).is_source or (axis == "memory.capacity" and row_of(run).kind in ("none", "statistics"))


def _axes(runs: Runs, rows: Mapping[str, Row]) -> dict[Row | Column, list[str]]:
    """For each row and each column the settings in which runs of the same cell differ."""
    found: dict[Row | Column, list[str]] = defaultdict(list)
    for row, column, axes in _rivals(runs, rows):
        for axis in axes:
            known = found[column if axis.startswith(COLUMN_AXIS) else row]
            known += [axis] if axis not in known else []
    return found


def _rivals(runs: Runs, rows: Mapping[str, Row]) -> list[tuple[Row, Column, list[str]]]:
    """Row, column and the settings that tell the runs apart, for each cell with several, of one seed or of many."""
    known = [run for run in runs if not column_of(run).is_source]
    cells = group(known, lambda run: (rows[run.id], column_of(run)))
    return [(*cell, tell_apart([run.parts(*AXES) for run in rivals])) for cell, rivals in cells.items()]


def _cell_and_seed(run: Run) -> tuple[Row, Column, int]:
    return row_of(run), column_of(run), run.seed


def _told(run: Run, axes: Sequence[str]) -> Settings:
    """The settings that tell it from others; where statistics have no rate, none is shown."""
    told = [(axis, _value(run, axis)) for axis in axes]
    return tuple((axis, "none" if v is None else v) for axis, v in told if (axis, v) != ("method.rate", None))


def _value(run: Run, axis: str) -> Any:
    """As something that can be a key."""
    value = run.made_of.get(axis)
    return tuple(value) if isinstance(value, list) else value


def find_best(run: Run) -> float | None:
    """The best rate that was measured for this run's method with its memory or control."""
    return best_rates().get((run.spec.method.name, run.spec.control or run.spec.memory.name))


def is_usual(run: Run) -> bool:
    """Is it at the default rate?"""
    name = run.spec.method.name
    return name in methods.names() and run.spec.method.rate == methods.get(name).paired.rate


def is_best(run: Run) -> bool:
    return run.spec.method.rate is not None and run.spec.method.rate == find_best(run)


def beside_usual(runs: Iterable[Run]) -> list[Run]:
    """The runs that have a row of their own, at their best rate, beside those at the default rate.

    Where the rate of a table is something else, swept or chosen by hand, there are no such rows.
    """
    known = [run for run in runs if run.spec.method.rate is not None and find_best(run) is not None]
    by_hand = any(not is_usual(run) and not is_best(run) for run in known)
    return [] if by_hand else [run for run in known if not is_usual(run)]
