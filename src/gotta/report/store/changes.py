"""What differs between two stores: cells, settings, numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gotta.experiment.spec.dotted import flatten, tell_apart, tell_each_apart
from gotta.groups import group
from gotta.report.cells import Line, Table, measure, number, of_difference
from gotta.report.pairs import Difference, difference
from gotta.report.stored_run import Run


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


def find_changes(a: Sequence[Run], b: Sequence[Run]) -> Changes:
    """Cells are the same where their settings are, apart from those that one store has throughout and the other not."""
    moved = _find_moved([_without_seed(run.settings) for run in a], [_without_seed(run.settings) for run in b])
    ignored, apart = {name for name, _, _ in moved}, _apart(a) | _apart(b)
    first, second = _cells(a, ignored, apart), _cells(b, ignored, apart)
    names = _labels([*first, *second])
    shared = [key for key in first if key in second]
    changes = [Change(names[key], first[key], second[key], difference(second[key], first[key])) for key in shared]
    return Changes(
        tuple(sorted(names[key] for key in first if key not in second)),
        tuple(sorted(names[key] for key in second if key not in first)),
        tuple(sorted(changes, key=lambda change: change.label)),
        tuple(moved),
        tuple(_find_moved([flatten(run.environment) for run in a], [flatten(run.environment) for run in b])),
    )


def change_table(changes: Changes) -> Table:
    """The cells whose numbers changed: A, B, and the paired difference with its interval."""
    rows = []
    for change in changes.shared:
        if not change.identical:
            a, b = (measure(runs, number("accuracy"), 2) for runs in (change.before, change.after))
            rows.append(Line((change.label,), (a, b, of_difference(change.difference, 2))))
    same = sum(change.identical for change in changes.shared)
    caption = (
        f"{len(changes.shared)} cells in both: {same} with the same numbers, {len(rows)} changed.",
        "B - A is paired on the same streams, with a 95 % interval over seeds and domains; ≈ is not significant.",
    )
    return Table("Accuracy (%)", ("cell",), ("A", "B", "B - A"), tuple(rows), caption)


def _numbers(runs: Sequence[Run]) -> list[tuple[Any, Any]]:
    return sorted((run.seed, json.dumps(run.stored.summary.get("online"), sort_keys=True)) for run in runs)


def _without_seed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """A cell is averaged over the seeds."""
    return {name: value for name, value in settings.items() if name != "seed"}


def _find_moved(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str]]:
    """The settings that have one value throughout A and another throughout B."""
    found = []
    for name in dict.fromkeys(name for setting in (*a, *b) for name in setting):
        first, second = ({_text(setting.get(name)) for setting in side} for side in (a, b))
        if len(first) == len(second) == 1 and first != second:
            found.append((name, first.pop(), second.pop()))
    return found


def _apart(runs: Sequence[Run]) -> set[str]:
    """What else tells runs of one store apart whose settings are the same, such as the code of a memory."""
    alike = group(runs, lambda run: json.dumps(_without_seed(run.settings), sort_keys=True, default=str))
    return {name for rivals in alike.values() for name in tell_apart([_without_seed(run.made_of) for run in rivals])}


def _cells(runs: Sequence[Run], ignored: set[str], apart: set[str]) -> dict[str, list[Run]]:
    def key(run: Run) -> str:
        settings = _without_seed(run.settings) | {name: run.made_of.get(name) for name in apart}
        return json.dumps({n: v for n, v in sorted(settings.items()) if n not in ignored}, default=str)

    return group(runs, key)


def _labels(keys: Sequence[str]) -> dict[str, str]:
    """Method and memory, and what else is needed to tell the cells apart."""
    known = {key: json.loads(key) for key in keys}
    short = {key: f"{s.get('method.name')} + {s.get('control') or s.get('memory.name')}" for key, s in known.items()}
    apart = tell_each_apart(known, short.__getitem__, known.__getitem__)
    return {key: " ".join([short[key], *(f"{n}={_text(value)}" for n, value in apart[key])]) for key in known}


def _text(value: Any) -> str:
    return json.dumps(value, default=str) if isinstance(value, list | dict) else str(value)
