"""Which method for which network and stream, from the runs of the recipe `choosing`.

    gotta bench choosing
    python -m gotta.report.choosing runs/choosing > docs/choosing.md

The second line writes the package's advice.yaml anew, which `gotta advise` reads, and prints the page about it.
"""

import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import yaml

from gotta.advice import CLOSE, FILE, SOURCE, Line, Situation, name_layers, tell_measured_on
from gotta.core.clock import BACKWARD
from gotta.errors import GottaError
from gotta.experiment.run.run import data_of, model_of
from gotta.methods import methods
from gotta.report.results import read_results
from gotta.report.stored_run import Run
from gotta.streams import Stream
from gotta.streams.order import class_runs

RECIPE = "choosing"
HEAD = f"# Written by `python -m gotta.report.choosing` from runs of the recipe `{RECIPE}`; accuracies in %.\n"
NOTES = """\
`gotta advise MODEL` says this for your network: it looks at the normalisation layers, at the length of class runs
(`--run-length`, or the settings of a stream), at the batch size and at
the forwards that you can spend (`--budget`), and names the lines that were best in the situation nearest to yours. In
Python: `gotta.advise(net, run_length=20)`.

- **Rows with a prior use the order of samples.** They win where a class comes many times in a row and are of no use
  elsewhere. Where each sample must be judged for itself take the best row
  without one. [When not to use it](deskew.md#what-it-assumes-and-when-not-to-use-it).
- Longer class runs, longer domains: [when is what worth it](results/when.md). Real video:
  [deskew](deskew.md#what-it-reaches). Does a memory add to it? [On top](results/on-top.md).
- A method that trains can break a model that worked. Whatever you choose, [switch the guard on](dropin.md)."""


def list_situations(runs: Sequence[Run]) -> list[Situation]:
    """What was measured, situation by situation, the best line first. Cells that had no effect are left out."""
    groups: dict[tuple[str, float, int], dict[str, list[Run]]] = defaultdict(lambda: defaultdict(list))
    for run in runs:
        if run.summary.no_effect or run.accuracy is None:
            continue
        arguments = list_arguments(run)
        groups[_place(run)][yaml.safe_dump(arguments, sort_keys=False)].append(run)
    return [
        Situation(*place, tuple(sorted(map(_make_line, lines.values()), key=_from_the_best)))
        for place, lines in sorted(groups.items(), key=lambda found: (found[0][0], found[0][1], -found[0][2]))
    ]


def _from_the_best(line: Line) -> tuple[float, float, bool]:
    """Of equal lines the cheaper one comes first, and of these the one that nothing need be said for."""
    return -line.accuracy, line.passes, line.arguments != {"method": "deskew"}


def list_arguments(run: Run) -> dict[str, Any]:
    """What `gotta.adapt` is to be told so that it does what the run did, besides its defaults."""
    method, memory = run.spec.method, run.spec.memory
    found: dict[str, Any] = {"method": method.name}
    if run.spec.has_memory:
        found |= {"memory": memory.name, "capacity": memory.capacity}
    if run.spec.control:
        found |= {"statistics": "running", "rate": method.rate}
    elif method.name == "norm":
        found["statistics"] = method.statistics or "batch"
    usual = methods.get(method.name).native_prior
    return found if run.prior == usual else {**found, "prior": run.prior}


def as_data(runs: Sequence[Run]) -> dict[str, Any]:
    found = list_situations(runs)
    if not found:
        raise GottaError(f"no run of the recipe is there. Run gotta bench {RECIPE} first.")
    return {
        "measured_on": _tell_set_up(runs),
        "situations": [
            {
                "layers": one.layers,
                "run_length": one.run_length,
                "batch_size": one.batch_size,
                "lines": [
                    {"arguments": dict(line.arguments), "accuracy": line.accuracy, "passes": line.passes}
                    for line in one.lines
                ],
            }
            for one in found
        ],
    }


def page(runs: Sequence[Run]) -> str:
    found = list_situations(runs)
    parts = [
        "# Which method, which memory?",
        "From what was measured, not from opinion. " + tell_measured_on(_tell_set_up(runs)),
        f"    gotta bench {RECIPE}\n    python -m gotta.report.choosing runs/{RECIPE} > docs/choosing.md",
        NOTES,
    ]
    for layers in dict.fromkeys(one.layers for one in found):
        here = [one for one in found if one.layers == layers]
        parts += [f"## {layers}", "\n".join(map(_tell, here)), _table(here)]
    return "\n\n".join(parts) + "\n"


def _tell(one: Situation) -> str:
    best, alone = one.choose(), one.choose(order=False)
    assert best is not None
    where = str(one).partition(", ")[2].capitalize()
    text = f"- {where}: `{best.call}` reaches {best.accuracy:.1f} % where the network as it is has {one.source:.1f}"
    if best.arguments == SOURCE:
        text = f"- {where}: leave the network as it is ({one.source:.1f} %)"
    if best.uses_order and alone is not None:
        text += f"; without using the order of samples `{alone.call}`, {alone.accuracy:.1f}"
    return text + "."


def _table(here: Sequence[Situation]) -> str:
    """A line for each call, a column for each situation; bold is what is within a point of the best."""
    calls = dict.fromkeys(line.call for one in here for line in one.lines)
    by_call = [{line.call: line for line in one.lines} for one in here]
    heads = [str(one).partition(", ")[2].removeprefix("classes ") for one in here]
    lines = [
        "| call | " + " | ".join(heads) + " | forwards for each sample, at most |",
        "|---|" + "---:|" * (len(here) + 1),
    ]
    order = sorted(calls, key=lambda call: -mean([found[call].accuracy for found in by_call if call in found]))
    for call in order:
        cells = []
        for one, found in zip(here, by_call, strict=True):
            line = found.get(call)
            near = line is not None and line.accuracy > one.lines[0].accuracy - CLOSE
            cells.append("" if line is None else f"**{line.accuracy:.1f}**" if near else f"{line.accuracy:.1f}")
        passes = max(found[call].passes for found in by_call if call in found)
        lines.append(f"| `{call}` | " + " | ".join(cells) + f" | {passes:.1f} |")
    return "\n".join(lines)


def _place(run: Run) -> tuple[str, float, int]:
    lengths = class_runs(Stream(data_of(run.spec), run.stream).label)
    return name_layers(model_of(run.spec)), round(float(lengths.mean()), 1), run.spec.regime.batch_size or 64


def _make_line(runs: Sequence[Run]) -> Line:
    spent = []
    for run in runs:
        cost = run.stored.summary["cost"]
        phases = {name: phase for name, phase in cost.items() if isinstance(phase, Mapping) and name != "total"}
        spent.append(count_passes(phases) / sum(domain.samples for domain in run.summary.online.domains))
    accuracy = mean(run.accuracy or 0.0 for run in runs)
    return Line(list_arguments(runs[0]), round(accuracy, 2), round(mean(spent), 2))


def count_passes(phases: Mapping[str, Mapping[str, Any]]) -> float:
    """Forwards of one sample. A backward is two, of as many samples as a forward of its phase, or of a prediction."""
    usual = _width(phases["predict"], 0.0) if "predict" in phases else 0.0
    counted = [phase for phase in phases.values() if "forwards" in phase]
    return sum(float(phase["samples"] + BACKWARD * phase["backwards"] * _width(phase, usual)) for phase in counted)


def _width(phase: Mapping[str, Any], usual: float) -> float:
    return float(phase["samples"] / phase["forwards"]) if phase["forwards"] else usual


def _tell_set_up(runs: Sequence[Run]) -> dict[str, Any]:
    domains = runs[0].summary.online.domains
    return {
        "data": runs[0].spec.data.name,
        "models": sorted({run.spec.model.name for run in runs}),
        "domains": [domain.name.rpartition("-")[0].replace("_", " ") for domain in domains],
        "severity": runs[0].spec.stream["severity"],
        "images": max(domain.samples for domain in domains),
        "seeds": len({run.seed for run in runs}),
    }


def main(folder: str) -> None:
    runs = read_results(folder).runs
    FILE.write_text(HEAD + yaml.safe_dump(as_data(runs), sort_keys=False, width=110, default_flow_style=None))
    sys.stdout.write(page(runs))


if __name__ == "__main__":
    main(sys.argv[1])
