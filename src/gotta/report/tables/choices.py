"""Settings chosen without labels: which value of a swept setting each surrogate picks, and what that costs."""

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Any

from gotta.experiment.spec.dotted import tell_each_apart
from gotta.report.cells import Cell, Line, Table, Value, number
from gotta.report.panel import Panel
from gotta.report.rows import column_of, row_of
from gotta.report.stored_run import Run, is_number

SWEPT = ("method.", "memory.")  # sections whose numbers may be chosen
FOLLOWS = {"memory.capacity": ("regime.batch_size", "regime.adapt_every")}  # what changes with a setting
CHANCE = "chance"
HEADING = ("method", "memory", "setting", "chosen by")
SET_UP = "set-up"  # a column before these, where sweeps are told apart by other settings
COLUMNS = ("chosen", "accuracy", "best", "accuracy of the best", "cost")

ByValue = dict[float, list[Run]]


@dataclass(frozen=True)
class Surrogate:
    """A number of a run that needs no labels, and which way is taken for better."""

    of: Value
    higher: bool
    meaning: str


def information(run: Run) -> float | None:
    """Entropy of the predicted classes over the whole stream, less the mean entropy of a prediction."""
    shares, entropy = run.stored.summary.get("online", {}).get("predicted"), run.numbers.get("online.entropy")
    if not isinstance(shares, list) or entropy is None or not all(map(is_number, shares)):
        return None
    return float(-sum(share / 100 * log(share / 100) for share in shares if share > 0)) - entropy


SURROGATES = {
    "entropy": Surrogate(number("online.entropy"), False, "lowest mean entropy of predictions"),
    "information": Surrogate(information, True, "largest entropy of the predicted classes less that of predictions"),
    "consistency": Surrogate(number("surrogates.consistency"), True, "most often the same for the mirrored image"),
    "agreement": Surrogate(number("surrogates.agreement"), True, "most often the same as the source model"),
}


def choice_table(panel: Panel) -> Table:
    """A line for each swept number and surrogate; no lines where no number was swept."""
    sweeps = find_sweeps(panel.runs)
    others = _tell_apart(sweeps)
    found = [
        Line((*([other] if any(others) else []), *row.names), row.cells, row.ranked)
        for other, sweep in sorted(zip(others, sweeps, strict=True), key=lambda pair: (pair[0], _names(*pair[1])))
        for row in _rows(*sweep)
    ]
    heading = (SET_UP, *HEADING) if any(others) else HEADING
    told = [f"{name}: {surrogate.meaning}" for name, surrogate in SURROGATES.items()]
    caption = (
        "Which value of a setting would have been chosen without labels, and what that costs in points of accuracy "
        f"against the best value in hindsight; means over seeds. {'; '.join(told)}; {CHANCE}: the mean over all. "
        "Consistency and agreement are known where the runs have regime.surrogates.",
    )
    return Table("Settings chosen without labels", heading, COLUMNS, tuple(found), caption)


def find_sweeps(runs: Sequence[Run]) -> list[tuple[str, ByValue]]:
    """Each setting with several numbers and the runs by its values, which differ in nothing else but their seeds."""
    found: dict[tuple[str, str], ByValue] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if not column_of(run).is_source:
            for name, value in _numbers(run).items():
                found[name, json.dumps(_others(run, name), sort_keys=True, default=str)][value].append(run)
    return [(name, dict(sorted(values.items()))) for (name, _), values in found.items() if len(values) > 1]


def _rows(setting: str, values: ByValue) -> list[Line]:
    known = _means(values, number("accuracy"))
    if not known:
        return []
    best = max(known, key=known.__getitem__)
    seeds = min(len({run.seed for run in runs}) for runs in values.values())
    found = {}  # by who chooses the value and its accuracy
    for name, surrogate in SURROGATES.items():
        if scores := _means(values, surrogate.of):
            chosen = (max if surrogate.higher else min)(scores, key=scores.__getitem__)
            found[name] = f"{chosen:g}", known[chosen]
    found[CHANCE] = "any", sum(known.values()) / len(known)
    rows = []
    for name, (value, accuracy) in found.items():
        ours, highest, cost = (Cell(one, seeds=seeds) for one in (accuracy, known[best], known[best] - accuracy))
        cells = Cell(absent=value), ours, Cell(absent=f"{best:g}"), highest, cost
        rows.append(Line((*_names(setting, values), name), cells, name != CHANCE))
    return rows


def _names(setting: str, values: ByValue) -> tuple[str, str, str]:
    run = next(iter(values.values()))[0]
    return column_of(run).label, row_of(run).label, setting.rpartition(".")[2]


def _tell_apart(sweeps: Sequence[tuple[str, ByValue]]) -> list[str]:
    """For each sweep the settings that tell it from others of the same names; nothing where there are none."""
    given = [_others(next(iter(values.values()))[0], setting) for setting, values in sweeps]
    apart = tell_each_apart(range(len(sweeps)), lambda at: _names(*sweeps[at]), given.__getitem__)
    return [", ".join(f"{name} {value}" for name, value in apart[at]) for at in range(len(sweeps))]


def _means(values: ByValue, of: Value) -> dict[float, float]:
    """The mean of the runs with each value; empty where one of them lacks the number."""
    known = {value: [score for run in runs if (score := of(run)) is not None] for value, runs in values.items()}
    if any(len(scores) < len(values[value]) for value, scores in known.items()):
        return {}
    return {value: sum(scores) / len(scores) for value, scores in known.items()}


def _numbers(run: Run) -> dict[str, float]:
    """The settings of method and memory that are numbers."""
    known = {name: value for name, value in run.settings.items() if name.startswith(SWEPT)}
    return {name: float(value) for name, value in known.items() if is_number(value)}


def _others(run: Run, setting: str) -> dict[str, Any]:
    """Everything that a run is besides this setting, what follows from it, and the seed."""
    left_out = {setting, "seed", *FOLLOWS.get(setting, ())}
    return {name: value for name, value in run.settings.items() if name not in left_out}
