"""Which runs share a table: found from what varies in their specs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from gotta.experiment.sweep.store import Run
from gotta.report.places import SETUP, SOURCE, TABLE_AXES, cell_key, settings, setups, telling

Setting = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Panel:
    """The runs of one table, with the settings that tell it from the other tables of the same folder."""

    settings: Setting
    runs: tuple[Run, ...]

    @property
    def title(self) -> str:
        return ", ".join(f"{name.split('.')[-1]} {_shown(value)}" for name, value in self.settings)


def panels(runs: Iterable[Run]) -> list[Panel]:
    """One panel for each combination of data, model, stream, capacity and regime that was run."""
    groups = setups(runs)
    outer = _varying(groups)
    found = []
    for group in groups:
        known = settings(group[0], SETUP)
        shared: Setting = tuple((name, known.get(name)) for name in outer)
        found += [Panel((*shared, *setting), tuple(members)) for setting, members in _split(group)]
    return sorted(found, key=lambda panel: [_order(value) for _, value in panel.settings])


def _varying(groups: Sequence[Sequence[Run]]) -> list[str]:
    """The settings of data, model and stream that differ between the set-ups."""
    known = [settings(group[0], SETUP) for group in groups]
    names = dict.fromkeys(name for setting in known for name in setting)
    # the seed and the cuts do not make a set-up, see places
    left_out = ("seed", "batch_size", "reset_at_domain")
    return [
        name
        for name in names
        if name.split(".")[-1] not in left_out and len({repr(setting.get(name)) for setting in known}) > 1
    ]


def _split(runs: Sequence[Run]) -> list[tuple[Setting, list[Run]]]:
    axes = [axis for axis in telling(runs) if axis.startswith(TABLE_AXES)]
    values = [sorted({_value(run, axis) for run in runs if not _indifferent(run, axis)}, key=_order) for axis in axes]
    found = []
    for combination in product(*values):
        setting = tuple(zip(axes, combination, strict=True))
        members = _members(runs, setting)
        if any(all(_value(run, axis) == value for axis, value in setting) for run in members):
            found.append((setting, members))
    return found


def _members(runs: Sequence[Run], setting: Setting) -> list[Run]:
    """The runs with this setting, and for cells it cannot change, such as the source model, any run there is."""
    exact = [run for run in runs if all(_value(run, axis) == value for axis, value in setting)]
    have = {(cell_key(run), run.spec.get("seed")) for run in exact}
    for run in runs:
        key = (cell_key(run), run.spec.get("seed"))
        close = all(_value(run, axis) == value or _indifferent(run, axis) for axis, value in setting)
        if close and key not in have:
            exact.append(run)
            have.add(key)
    chosen = {run.id for run in exact}
    return [run for run in runs if run.id in chosen]


def _indifferent(run: Run, axis: str) -> bool:
    """Can this setting not change the run's numbers?"""
    row, column = cell_key(run)
    return column == SOURCE or (axis == "memory.capacity" and row == "none")


def _value(run: Run, axis: str) -> Any:
    value = settings(run).get(axis)
    return tuple(value) if isinstance(value, list) else value


def _order(value: Any) -> tuple[int, float, str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return (0, float(value), "") if number else (1, 0.0, str(value))


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"{value[0]} ... {value[-1]} ({len(value)})"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
