"""What differs between two stores: cells, settings, numbers."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gotta.experiment.sweep.store import Run
from gotta.report.pairs import Difference, difference
from gotta.report.places import flat
from gotta.report.tables.cells import Cell, Row, Table, of_difference, over_seeds
from gotta.report.tables.comparison import by_seed, summary_value

UNNAMED = ("seed", "recipe")  # a seed is what a cell is averaged over


@dataclass(frozen=True)
class Change:
    """A cell that both stores have, with the paired difference B less A."""

    label: str
    before: Sequence[Run]
    after: Sequence[Run]
    difference: Difference

    @property
    def identical(self) -> bool:
        return _numbers(self.before) == _numbers(self.after)


@dataclass(frozen=True)
class Changes:
    """Two stores side by side. `settings` have one value throughout A and another throughout B; cells match without."""

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    shared: tuple[Change, ...]
    settings: tuple[tuple[str, str, str], ...]
    environment: tuple[tuple[str, str, str], ...]


def compare(a: Sequence[Run], b: Sequence[Run]) -> Changes:
    """Cells are the same where their settings are, apart from those that one store has throughout and the other not."""
    moved = _moved([_spec(run) for run in a], [_spec(run) for run in b])
    ignored = {name for name, _, _ in moved}
    first, second = _cells(a, ignored), _cells(b, ignored)
    names = _labels([*first, *second])
    shared = [key for key in first if key in second]
    changes = [Change(names[key], first[key], second[key], difference(second[key], first[key])) for key in shared]
    return Changes(
        tuple(sorted(names[key] for key in first if key not in second)),
        tuple(sorted(names[key] for key in second if key not in first)),
        tuple(sorted(changes, key=lambda change: change.label)),
        tuple(moved),
        tuple(_moved([flat(run.environment) for run in a], [flat(run.environment) for run in b])),
    )


def change_table(changes: Changes) -> Table:
    """The cells whose numbers changed: A, B, and the paired difference with its interval."""
    rows = []
    for change in changes.shared:
        if not change.identical:
            a, b = (over_seeds(by_seed(runs, _accuracy), 2) for runs in (change.before, change.after))
            rows.append(Row((change.label,), (a, b, _changed(change))))
    same = sum(change.identical for change in changes.shared)
    caption = (
        f"{len(changes.shared)} cells in both: {same} with the same numbers, {len(rows)} changed.",
        "B - A is paired on the same streams, with a 95 % interval over seeds and domains; ≈ cannot be told from zero.",
    )
    return Table("Accuracy (%)", ("cell",), ("A", "B", "B - A"), tuple(rows), caption)


def _changed(change: Change) -> Cell:
    return of_difference(change.difference, 2)


def _accuracy(run: Run) -> float | None:
    return summary_value(run.summary, "accuracy")


def _numbers(runs: Sequence[Run]) -> list[tuple[Any, Any]]:
    return sorted((run.spec.get("seed", 0), json.dumps(run.summary.get("online"), sort_keys=True)) for run in runs)


def _spec(run: Run) -> dict[str, Any]:
    return {name: value for name, value in flat(run.spec).items() if name not in UNNAMED}


def _moved(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The settings that have one value throughout A and another throughout B."""
    found = []
    for name in dict.fromkeys(name for setting in (*a, *b) for name in setting):
        first, second = ({_text(setting.get(name)) for setting in side} for side in (a, b))
        if len(first) == len(second) == 1 and first != second:
            found.append((name, first.pop(), second.pop()))
    return found


def _cells(runs: Sequence[Run], ignored: set[str]) -> dict[str, list[Run]]:
    found: dict[str, list[Run]] = defaultdict(list)
    for run in runs:
        found[json.dumps({n: v for n, v in sorted(_spec(run).items()) if n not in ignored}, default=str)].append(run)
    return found


def _labels(keys: Sequence[str]) -> dict[str, str]:
    """Method and memory, and what else is needed to tell the cells apart."""
    known = {key: json.loads(key) for key in keys}
    short = {key: f"{s.get('method.name')} + {s.get('control') or s.get('memory.name')}" for key, s in known.items()}
    result = {}
    for key, setting in known.items():
        rivals = [other for other, name in short.items() if name == short[key]]
        apart = [n for n in setting if any(known[r].get(n) != setting[n] for r in rivals)]
        result[key] = " ".join([short[key], *(f"{n.split('.')[-1]}={_text(setting[n])}" for n in apart)])
    return result


def _text(value: Any) -> str:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
