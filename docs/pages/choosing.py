"""Which method for which network and stream, from the runs of the recipe `choosing`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import yaml
from torch import nn

from gotta.experiment.run.loaded import data_of, model_of
from gotta.groups import group
from gotta.report.cells import ORDER
from gotta.report.stored_run import Run
from gotta.safe_text import tell_number
from gotta.statistics.normalization import has_batch_norm
from gotta.streams import Stream
from gotta.streams.order import class_runs
from gotta.workflow.advice import CLOSE, Candidate, list_arguments, write_call
from pages.parts import grid, join, read

RECIPE = "choosing"
SOURCE = {"method": "source"}
NOTES = """\
`gotta advise MODEL --data ...` measures this on your own network and your own stream, and answers with one line of
`gotta.adapt`, its margin and its cost ([which method?](dropin.md#which-method)).

- **Rows with » use the order of samples** (a prior) **or the mix of a batch** (LAME). They win where a class comes many
  times in a row and are of no use elsewhere. Where each sample must be judged on its own, take the best row
  without the mark. [When not to use it](deskew.md#what-it-assumes-and-when-not-to-use-it).
- Longer class runs, longer domains: [when is what worth it](results/when.md). Real video:
  [deskew](deskew.md#what-it-reaches). Does a memory add to it? [On top](results/on-top.md).
- A method that trains can break a model that worked. Whatever you choose, [switch the guard on](dropin.md)."""


@dataclass(frozen=True)
class Line:
    """A call of `gotta.adapt` and what it reached; `passes` are forwards for each sample, a backward being two."""

    arguments: Mapping[str, Any]
    accuracy: float
    passes: float
    uses_order: bool = False

    @property
    def call(self) -> str:
        return write_call(self.arguments)


@dataclass(frozen=True)
class Situation:
    """A kind of network, a mean length of class runs, a batch size; and the lines measured there, the best first."""

    layers: str  # BatchNorm, GroupNorm or LayerNorm
    run_length: float
    batch_size: int
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        classes = "in random order" if self.run_length < 2 else f"in runs of {self.run_length:.0f} samples on average"
        batches = "single images" if self.batch_size == 1 else f"batches of {self.batch_size}"
        return f"{self.layers}, classes {classes}, {batches}"

    def choose(self, order: bool = True) -> Line | None:
        """The cheapest of those within a point of the best, the network as it is before others that cost the same."""
        able = [line for line in self.lines if order or not line.uses_order]
        best = max((line.accuracy for line in able), default=0.0)
        near = [line for line in able if line.accuracy > best - CLOSE]
        return min(near, key=lambda line: (line.passes, line.arguments != SOURCE, -line.accuracy), default=None)

    @property
    def source(self) -> float:
        """The accuracy of the network as it is."""
        return next(line.accuracy for line in self.lines if line.arguments == SOURCE)


def make(root: Path) -> dict[Path, str]:
    return {root / "docs/choosing.md": page(read(root, RECIPE))}


def list_situations(runs: Sequence[Run]) -> list[Situation]:
    """What was measured, situation by situation, the best line first. Cells that had no effect are left out."""
    places = group((run for run in runs if not run.summary.no_effect and run.accuracy is not None), _place)
    found = []
    for place, members in sorted(places.items(), key=lambda found: (found[0][0], found[0][1], -found[0][2])):
        lines = group(members, lambda run: yaml.safe_dump(list_arguments(run), sort_keys=False))
        found.append(Situation(*place, tuple(sorted(map(_make_line, lines.values()), key=_from_the_best))))
    return found


def _from_the_best(line: Line) -> tuple[float, float, bool]:
    """Of equal lines the cheaper one comes first, and of these the one that nothing need be said for."""
    return -line.accuracy, line.passes, line.arguments != {"method": "deskew"}


def page(runs: Sequence[Run]) -> str:
    found = list_situations(runs)
    parts = [
        "# Which method, which memory?",
        "From what was measured, not from opinion. " + tell_measured_on(runs),
        f"    gotta bench {RECIPE}\n    python docs/make_pages.py choosing",
        NOTES,
    ]
    for layers in dict.fromkeys(one.layers for one in found):
        here = [one for one in found if one.layers == layers]
        parts += [f"## {layers}", "\n".join(map(_tell, here)), _table(here)]
    return join(parts)


def _tell(one: Situation) -> str:
    best, alone = one.choose(), one.choose(order=False)
    assert best is not None
    where = str(one).partition(", ")[2].capitalize()
    text = f"- {where}: `{best.call}` raises accuracy from {one.source:.1f} to {best.accuracy:.1f} %"
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
    order = sorted(calls, key=lambda call: -mean([found[call].accuracy for found in by_call if call in found]))
    rows = {}
    for call in order:
        cells = []
        for one, found in zip(here, by_call, strict=True):
            line = found.get(call)
            near = line is not None and line.accuracy > one.lines[0].accuracy - CLOSE
            cells.append("" if line is None else f"**{line.accuracy:.1f}**" if near else f"{line.accuracy:.1f}")
        passes = max(found[call].passes for found in by_call if call in found)
        mark = f" {ORDER}" if any(found[call].uses_order for found in by_call if call in found) else ""
        rows[f"`{call}`{mark}"] = [*cells, f"{passes:.1f}"]
    return grid("call", [*heads, "forwards for each sample, at most"], rows)


def _place(run: Run) -> tuple[str, float, int]:
    lengths = class_runs(Stream(data_of(run.spec), run.stream).label)
    return name_layers(model_of(run.spec)), round(float(lengths.mean()), 1), run.spec.regime.batch_size or 64


def _make_line(runs: Sequence[Run]) -> Line:
    found = [Candidate(run) for run in runs]
    accuracy, passes = mean(one.accuracy for one in found), mean(one.passes for one in found)
    return Line(list_arguments(runs[0]), round(accuracy, 2), round(passes, 2), runs[0].uses_order)


def name_layers(model: nn.Module) -> str:
    """Which kind of normalisation it has; empty for none."""
    kinds = {type(module).__name__ for module in model.modules()}
    if has_batch_norm(model):
        return "BatchNorm"
    return next((kind for kind in ("GroupNorm", "LayerNorm") if kind in kinds), "")


def tell_measured_on(runs: Sequence[Run]) -> str:
    spec, domains = runs[0].spec, runs[0].summary.online.domains
    models = ", ".join(sorted({run.spec.model.name for run in runs}))
    names = ", ".join(domain.name.rpartition("-")[0].replace("_", " ") for domain in domains)
    images = max(domain.samples for domain in domains)
    return (
        f"Measured with {models} on {spec.data.name}, {names} at severity {spec.stream['severity']}, {images:,} images "
        f"each, {tell_number(len({run.seed for run in runs}), 'seed')}. Lines less than {CLOSE:g} point apart count as "
        "equal, and the cheaper one is named. Your stream is another one: measure on it (`gotta advise`), and switch "
        "the guard on."
    )
