"""Where a run belongs in a table: its row, its column, their order, and which runs share a table at all."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gotta.experiment.sweep.store import Run

MEMORIES = ("none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd")
METHODS = ("source", "norm", "rotta", "note", "sar", "eata", "cotta", "tent", "pl", "shot", "energy")
CONTROLS = {
    "running_statistics": "control: running statistics",
    "same_samples": "control: same samples per step",
    "oracle": "control: oracle (true labels)",
}
SOURCE = "source"
# what makes two runs incomparable; anything else that differs becomes another row or column
SETUP = ("recipe", "data", "stream", "model")
# a seed is an axis of every table, and the regime says how the same stream is cut into batches
OUTSIDE_SETUP = ("seed", "batch_size", "reset_at_domain")
AXES = ("memory", "pairing", "method", "regime", "guard")  # the earlier ones explain first
COLUMN_AXIS = "method."
# settings that a whole table shares: where runs of one cell differ in them, each value has a table of its own
TABLE_AXES = ("memory.capacity", "regime.")
Order = tuple[Any, ...]


@dataclass(frozen=True)
class Place:
    """The row and the column of a run, and the keys that sort them."""

    row: str
    column: str
    row_order: Order
    column_order: Order
    ranked: bool  # controls and the source model are there to compare with, not to win


def cell_key(run: Run) -> tuple[str, str]:
    """The row and the column by name alone, whatever settings differ."""
    return _row(run), _column(run)


def settings(run: Run, parts: Sequence[str] = (*SETUP, *AXES)) -> dict[str, Any]:
    """The settings of a run as dotted names and values."""
    return _settings(run, parts)


def telling(runs: Sequence[Run]) -> list[str]:
    """The settings in which runs of the same cell and seed differ, in the order of AXES."""
    cells: dict[tuple[str, str, Any], list[Run]] = defaultdict(list)
    for run in runs:
        if _column(run) != SOURCE:
            cells[_row(run), _column(run), run.spec.get("seed")].append(run)
    return list(dict.fromkeys(axis for rivals in cells.values() for axis in _telling(rivals)))


def setups(runs: Iterable[Run]) -> list[list[Run]]:
    """The runs in groups that may share a table, in the order of their first run."""
    groups: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        groups[_setup(run)].append(run)
    return list(groups.values())


def _setup(run: Run) -> str:
    settings = _settings(run, SETUP)
    return json.dumps({name: settings[name] for name in sorted(settings) if name.split(".")[-1] not in OUTSIDE_SETUP})


def places(runs: Sequence[Run]) -> list[Place]:
    """A place for each run. Runs of one seed that would share a cell are told apart by the settings they differ in."""
    row_axes, column_axes = _axes(runs)
    return [_place(run, row_axes, column_axes) for run in runs]


def flat(section: Any, prefix: str = "") -> dict[str, Any]:
    """A part of a spec as dotted names and values; a bare value is its `name`."""
    if not isinstance(section, dict):
        return {prefix or "name": section}
    result: dict[str, Any] = {}
    for key, value in section.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        result |= flat(value, name) if isinstance(value, dict) else {name: value}
    return result


def section_name(run: Run, section: str) -> str:
    found = run.spec.get(section)
    return str(found.get("name") if isinstance(found, dict) else found)


def _place(run: Run, row_axes: dict[str, list[str]], column_axes: dict[str, list[str]]) -> Place:
    row, column = _row(run), _column(run)
    row_label = _label(run, row, row_axes.get(row, []))
    column_label = _label(run, column, column_axes.get(column, []))
    controls = list(CONTROLS.values())
    if row.startswith("control: "):
        row_order: Order = (1, _position(row, controls), _natural(row_label))
    else:
        row_order = (0, _position(row, MEMORIES), _natural(row_label))
    ranked = row_order[0] == 0 and column != SOURCE
    return Place(row_label, column_label, row_order, (_position(column, METHODS), _natural(column_label)), ranked)


def _row(run: Run) -> str:
    control = run.spec.get("control")
    if _column(run) == SOURCE:  # it never adapts: whatever memory it ran with, it is the same run
        return "none"
    if control:
        return CONTROLS.get(control, f"control: {str(control).replace('_', ' ')}")
    return section_name(run, "memory")


def _column(run: Run) -> str:
    return section_name(run, "method")


def _axes(runs: Sequence[Run]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """For each row and each column the settings in which runs of the same cell and seed differ."""
    cells: dict[tuple[str, str, Any], list[Run]] = defaultdict(list)
    for run in runs:
        if _column(run) != SOURCE:
            cells[_row(run), _column(run), run.spec.get("seed")].append(run)
    rows: dict[str, list[str]] = defaultdict(list)
    columns: dict[str, list[str]] = defaultdict(list)
    for (row, column, _), rivals in cells.items():
        for axis in _telling(rivals):
            known = columns[column] if axis.startswith(COLUMN_AXIS) else rows[row]
            known += [axis] if axis not in known else []
    return rows, columns


def _telling(runs: Sequence[Run]) -> list[str]:
    """The first settings that tell the runs apart: what only follows from another setting is not repeated."""
    if len(runs) < 2:
        return []
    settings = [_settings(run, AXES) for run in runs]
    chosen: list[str] = []
    seen = [""] * len(runs)
    for name in dict.fromkeys(name for setting in settings for name in setting):
        finer = [f"{before} {setting.get(name)!r}" for before, setting in zip(seen, settings, strict=True)]
        if len(set(finer)) > len(set(seen)):
            chosen, seen = [*chosen, name], finer
    return chosen


def _settings(run: Run, parts: Sequence[str]) -> dict[str, Any]:
    return {key: value for part in parts for key, value in flat(run.spec.get(part), part).items()}


def _label(run: Run, name: str, axes: Sequence[str]) -> str:
    settings = _settings(run, AXES) if axes else {}
    return " ".join([name, *(f"{axis.split('.')[-1]}={settings.get(axis)}" for axis in axes)])


def _position(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)


def _natural(text: str) -> Order:
    """Sorts `capacity=8` before `capacity=32` and `rate=0.05` before `rate=0.1`."""
    parts = re.split(r"(\d+(?:\.\d+)?)", text)  # text, number, text, ...
    return tuple((0, float(part), "") if i % 2 else (1, 0.0, part) for i, part in enumerate(parts))
