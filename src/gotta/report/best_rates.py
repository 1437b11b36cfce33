"""Which rate of running statistics is best for each method and memory, from the runs of the recipe `statistics`.

    gotta bench statistics
    python -m gotta.report.best_rates results/statistics.jsonl > docs/results/statistics.md

The second line writes the package's best_rates.yaml anew and prints the page about it.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from gotta.errors import GottaError
from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.best_rates import FILE
from gotta.methods import methods
from gotta.printable import tell_number
from gotta.report.pairs import fair_difference, samples_per_step
from gotta.report.panel import CONTROL, MEMORIES, METHODS, row_name
from gotta.report.results import read_results
from gotta.report.stored_run import Run
from gotta.report.tables.render import prose

RECIPE = "statistics"
CONTROL_KEY = "running_statistics"
HEAD = (
    "# Chosen by `python -m gotta.report.best_rates` from runs of the recipe `statistics`; accuracies in % by rate.\n"
)


@dataclass(frozen=True, eq=False)
class Measured:
    """One method with one memory or control at every rate."""

    method: str
    key: str  # the memory or the control, as a spec names it
    row: str  # and as a table does
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

    def at(self, rate: float) -> float:
        return self.accuracies[rate]


def measured(runs: Sequence[Run]) -> list[Measured]:
    """What was run at every rate of the recipe; what was not is left out."""
    rates = [float(rate) for rate in load_recipe(RECIPE).axes["method.rate"]]
    found: dict[tuple[str, str, str], dict[float, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.spec.method.rate is not None:
            key = run.spec.method.name, run.spec.control or run.spec.memory.name, row_name(run)
            found[key][run.spec.method.rate].append(run)
    _check_one_set_up([run for by_rate in found.values() for group in by_rate.values() for run in group])
    return [
        Measured(*key, {rate: tuple(by_rate[rate]) for rate in rates})
        for key, by_rate in found.items()
        if set(rates) <= by_rate.keys()
    ]


def as_data(found: Sequence[Measured]) -> dict[str, Any]:
    """The choice, every accuracy behind it, and what it was chosen on."""
    if not found:
        raise GottaError(f"nothing was run at every rate. Run gotta bench {RECIPE} first.")
    chosen: dict[str, dict[str, Any]] = defaultdict(dict)
    for one in found:
        accuracies = {rate: round(value, 2) for rate, value in one.accuracies.items()}
        chosen[one.method][one.key] = {"rate": one.best, "accuracies": accuracies}
    return {"chosen_on": _set_up(found), "rates": dict(chosen)}


def page(found: Sequence[Measured]) -> str:
    """The results of the recipe as a page of the docs."""
    on = _set_up(found)
    parts = [
        "# How fast should running statistics move?",
        f"Accuracy in percent of `{on['model']}` on {on['data']}, {tell_number(on['images'], 'image')} in each of "
        f"{', '.join(on['domains'])} at severity {on['severity']}, order {on['order']} (gamma {on['gamma']}), memories "
        f"of {on['capacity']} rows in steps of as many, {tell_number(len(on['seeds']), 'seed')}. No other table scores "
        "these corruptions. Bold: the best rate of a row, which other recipes use in their rows *at its best rate*.",
        "    gotta bench statistics\n"
        "    python -m gotta.report.best_rates results/statistics.jsonl > docs/results/statistics.md",
        "Made by these commands, from the runs alone; what was not run at every rate is not here.",
    ]
    for method in dict.fromkeys(one.method for one in found):
        rows = [one for one in found if one.method == method]
        parts += [f"## {method}", *_sentences(rows), _table(rows)]
    return "\n\n".join(parts) + "\n"


def _sentences(rows: Sequence[Measured]) -> list[str]:
    """Memory against control, both at the usual rate and each at its own best."""
    control = next((one for one in rows if one.key == CONTROL_KEY), None)
    memories = [one for one in rows if one.key != CONTROL_KEY]
    if control is None or not memories:
        return []
    usual = control.usual
    ahead = max(memories, key=lambda one: one.at(usual))
    best = max(memories, key=lambda one: one.at(one.best))
    lines = [
        f"At the paper's rate, {usual:g}, the best memory is {ahead.row} with {ahead.at(usual):.1f}, and running "
        f"statistics without a memory have {control.at(usual):.1f} ({_gap(ahead, usual, control, usual)}). Each at its "
        f"best rate, the best memory is {best.row} ({best.best:g}) with {best.at(best.best):.1f}, and running "
        f"statistics ({control.best:g}) have {control.at(control.best):.1f} "
        f"({_gap(best, best.best, control, control.best)})."
    ]
    same = [one.row for one in memories if one.accuracies == control.accuracies]
    if same:
        lines.append(
            f"At equal rates {_listed(same)} has the numbers of running statistics, by construction: in steps of as "
            "many samples as it has rows it holds exactly the last batch."
        )
    edge = [one.row for one in rows if one.best in (min(one.runs), max(one.runs))]
    if edge:
        lines.append(f"At the edge of the rates that were tried, so that a rate beyond may be better: {_listed(edge)}.")
    return lines


def _gap(ours: Measured, at: float, theirs: Measured, their_rate: float) -> str:
    found = fair_difference(ours.runs[at], theirs.runs[their_rate]).estimate
    if found is None:
        return "not on the same stream"
    half = "" if found.half is None else f" ± {found.half:.1f} at 95 % over other corruptions"
    chosen = ", rates and memory chosen on these very runs" if (at, their_rate) != (ours.usual, theirs.usual) else ""
    return f"{found.mean:+.1f}{half}{chosen}"


def _table(rows: Sequence[Measured]) -> str:
    rates = list(rows[0].runs)
    lines = ["| memory | " + " | ".join(f"{rate:g}" for rate in rates) + " |", "|---|" + "---:|" * len(rates)]
    for one in rows:
        numbers = [f"**{v:.1f}**" if rate == one.best else f"{v:.1f}" for rate, v in one.accuracies.items()]
        lines.append(f"| {prose(one.row)} | " + " | ".join(numbers) + " |")
    return "\n".join(lines)


def _set_up(found: Sequence[Measured]) -> dict[str, Any]:
    runs = [run for one in found for group in one.runs.values() for run in group]
    spec = runs[0].spec
    return {
        "data": spec.data.name,
        "model": spec.model.name,
        "order": spec.stream["order"],
        "gamma": spec.stream["gamma"],
        "severity": spec.stream["severity"],
        "domains": [domain.name.rpartition("-")[0] for domain in runs[0].summary.online.domains],
        "images": max(domain.samples for domain in runs[0].summary.online.domains),
        "capacity": spec.memory.capacity,
        "seeds": sorted({run.seed for run in runs}),
    }


def _check_one_set_up(runs: Sequence[Run]) -> None:
    known = {
        repr([run.section("data", "model", "stream"), run.spec.memory.capacity, samples_per_step([run])])
        for run in runs
    }
    if len(known) > 1:
        raise GottaError(f"the runs are of {len(known)} set-ups, and a rate is chosen on one. Use a folder for each.")


def _place(one: Measured) -> tuple[int, bool, int, str]:
    """As in the tables of a report."""
    method, memory = (
        names.index(name) if name in names else len(names)
        for names, name in ((METHODS, one.method), (MEMORIES, one.key))
    )
    return method, one.key == CONTROL_KEY, memory, one.key


def _listed(rows: Sequence[str]) -> str:
    return ", ".join(row.removeprefix(CONTROL) for row in rows)


def main(folder: str) -> None:
    found = measured(read_results(folder).runs)
    found.sort(key=_place)
    content = as_data(found)
    FILE.write_text(HEAD + yaml.safe_dump(content, sort_keys=False, width=110, default_flow_style=None))
    sys.stdout.write(page(found))


if __name__ == "__main__":
    main(sys.argv[1])
