"""Which rate of running statistics is best for each method and memory, from the runs of the recipe `statistics`.

It writes the package's best_rates.yaml anew, too.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.best_rates import FILE
from gotta.groups import group
from gotta.methods import methods
from gotta.report.pairs import fair_difference
from gotta.report.rows import METHODS, RUNNING, Row, list_in_words, row_of
from gotta.report.stored_run import Run
from gotta.safe_text import tell_number
from pages.parts import grid, join, read

HEAD = "# Chosen by `docs/make_pages.py best_rates` from runs of the recipe `statistics`; accuracies in % by rate.\n"


@dataclass(frozen=True, eq=False)
class Measured:
    """One method with one memory or control at every rate."""

    method: str
    row: Row
    runs: Mapping[float, tuple[Run, ...]]

    @property
    def accuracies(self) -> dict[float, float]:
        return {rate: sum(run.accuracy or 0.0 for run in runs) / len(runs) for rate, runs in self.runs.items()}

    @property
    def best(self) -> float:
        """The smallest of the best, should two be equal."""
        return max(self.accuracies, key=lambda rate: (self.accuracies[rate], -rate))

    @property
    def usual(self) -> float:
        return methods.get(self.method).paired.rate


def make(root: Path) -> dict[Path, str]:
    found = measured(read(root, "statistics"))
    chosen = yaml.safe_dump(as_data(found), sort_keys=False, width=110, default_flow_style=None)
    return {root / "docs/results/statistics.md": page(found), FILE: HEAD + chosen}


def measured(runs: Sequence[Run]) -> list[Measured]:
    """What was run at every rate of the recipe, in the order of a report; what was not is left out."""
    rates = [float(rate) for rate in load_recipe("statistics").axes["method.rate"]]
    complete = []
    for key, members in group(runs, lambda run: (run.spec.method.name, row_of(run))).items():
        by_rate = group(members, lambda run: run.spec.method.rate)
        if set(rates) <= by_rate.keys():
            complete.append(Measured(*key, {rate: tuple(by_rate[rate]) for rate in rates}))
    return sorted(complete, key=lambda one: (METHODS.index(one.method), one.row.position))


def as_data(found: Sequence[Measured]) -> dict[str, Any]:
    """The choice, every accuracy behind it, and what it was chosen on."""
    chosen: dict[str, dict[str, Any]] = defaultdict(dict)
    for one in found:
        accuracies = {rate: round(value, 2) for rate, value in one.accuracies.items()}
        chosen[one.method][one.row.name] = {"rate": one.best, "accuracies": accuracies}
    return {"chosen_on": set_up(found), "rates": dict(chosen)}


def page(found: Sequence[Measured]) -> str:
    on = set_up(found)
    parts = [
        "# How fast should running statistics move?",
        f"Accuracy in percent of `{on['model']}` on {on['data']}, {tell_number(on['images'], 'image')} in each of "
        f"{', '.join(on['domains'])} at severity {on['severity']}, {on['order'].capitalize()} order (gamma "
        f"{on['gamma']}), memories of {on['capacity']} rows in steps of as many, "
        f"{tell_number(len(on['seeds']), 'seed')}. No other table scores these corruptions. Bold: the best rate of a "
        "row, which other recipes use in their rows *at best rate*.",
        "    gotta bench statistics\n    python docs/make_pages.py best_rates",
        "Rows that were not run at every rate are left out.",
    ]
    for method in dict.fromkeys(one.method for one in found):
        rows = [one for one in found if one.method == method]
        cells = {
            one.row.label: [f"**{v:.1f}**" if rate == one.best else f"{v:.1f}" for rate, v in one.accuracies.items()]
            for one in rows
        }
        parts += [f"## {method}", *sentences(rows), grid("memory", [f"{rate:g}" for rate in rows[0].runs], cells)]
    return join(parts)


def sentences(rows: Sequence[Measured]) -> list[str]:
    """Memory against control, both at the default rate and each at its own best."""
    control = next((one for one in rows if one.row == RUNNING), None)
    memories = [one for one in rows if one.row.is_memory]
    if control is None or not memories:
        return []
    usual = control.usual
    ahead = max(memories, key=lambda one: one.accuracies[usual])
    best = max(memories, key=lambda one: one.accuracies[one.best])
    lines = [
        f"At the default rate, {usual:g}, the best memory is {ahead.row.label} with {ahead.accuracies[usual]:.1f}, and "
        f"running statistics without a memory have {control.accuracies[usual]:.1f} "
        f"({gap(ahead, usual, control, usual)}). Each at its best rate, the best memory is {best.row.label} "
        f"({best.best:g}) with {best.accuracies[best.best]:.1f}, and running statistics ({control.best:g}) have "
        f"{control.accuracies[control.best]:.1f} ({gap(best, best.best, control, control.best)}; rates and memory "
        "chosen on these very runs)."
    ]
    same = [one.row.short for one in memories if one.accuracies == control.accuracies]
    if same:
        lines.append(
            f"At equal rates {list_in_words(same)} equals running statistics by construction: in steps of as many "
            "samples as it has rows, it holds exactly the last batch."
        )
    edge = [one.row.short for one in rows if one.best in (min(one.runs), max(one.runs))]
    if edge:
        lines.append(f"Best at the edge of the rates tried, so a rate beyond may be better: {list_in_words(edge)}.")
    return lines


def gap(ours: Measured, at: float, theirs: Measured, their_rate: float) -> str:
    found = fair_difference(ours.runs[at], theirs.runs[their_rate]).estimate
    if found is None:
        return "not on the same stream"
    if found.half is None:
        return f"{found.mean:+.1f}, from {found.range[0]:+.1f} to {found.range[1]:+.1f} over the corruptions"
    return f"{found.mean:+.1f} ± {found.half:.1f}"


def set_up(found: Sequence[Measured]) -> dict[str, Any]:
    runs = [run for one in found for group in one.runs.values() for run in group]
    assert len({repr(run.section("data", "model", "stream")) for run in runs}) == 1, "a rate is chosen on one set-up"
    spec = runs[0].spec
    return {
        "data": spec.data.name,
        "model": spec.model.name,
        **{name: spec.stream[name] for name in ("order", "gamma", "severity")},
        "domains": [domain.name.rpartition("-")[0] for domain in runs[0].summary.online.domains],
        "images": max(domain.samples for domain in runs[0].summary.online.domains),
        "capacity": spec.memory.capacity,
        "seeds": sorted({run.seed for run in runs}),
    }
