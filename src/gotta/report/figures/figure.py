"""What a figure is, how a file of this folder adds one, and what several of them need."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gotta.methods.settings import BY_LEVEL
from gotta.registry import Registry
from gotta.report.figures.drawing import Drawing
from gotta.report.panel import NONE, SOURCE, Panel, Runs, is_control
from gotta.report.stored_run import Run
from gotta.report.tables.cells import Cell, over_seeds
from gotta.report.tables.comparison import by_seed, number

WIDTH = 760.0
CHART = 580.0  # of a chart with lines: two stand side by side
MANY = 16  # lines that a figure can show; of more, the best
FIRST = 6  # of these, lines that a page shows before anybody asks for others


@dataclass(frozen=True)
class Figure:
    """A drawing with what a reader must know to read it; `method` where there is one for each, `kind` by `draws`."""

    title: str
    caption: str
    drawing: Drawing
    method: str = ""
    kind: str = ""

    @property
    def name(self) -> str:
        """For a file."""
        return f"{self.kind}-{slug(self.method)}" if self.method else self.kind


Maker = Callable[[Panel], list[Figure]]


@dataclass(frozen=True)
class Kind:
    """A function that draws the figures of one kind, and where they stand among the others."""

    make: Maker
    position: int
    across: bool


kinds: Registry[Kind] = Registry("figure", "gotta.report.figures")


def draws(kind: str, position: int, across: bool = False) -> Callable[[Maker], Maker]:
    """Adds the figures that the decorated function makes of a panel: none where the panel has not what they need.

    `kind`, one word, begins the names of their files. With `across` the panel is of all runs of a folder, not of one
    table.
    """

    def keep(make: Maker) -> Maker:
        kinds.register(kind)(Kind(make, position, across))
        return make

    return keep


def figures(panel: Panel, across: bool = False) -> list[Figure]:
    """The figures of one table, or those that go across all tables."""
    known = {name: kinds.get(name) for name in kinds.names()}
    chosen = sorted((k.position, name, k.make) for name, k in known.items() if k.across == across)
    return [replace(figure, kind=name) for _, name, make in chosen for figure in make(panel)]


def is_figure_file(name: str) -> bool:
    """Whether a file is named like a figure of ours."""
    return bool(re.fullmatch(rf"(\d+-)?({'|'.join(kinds.names())})(-[a-z0-9-]+)?\.(svg|png)", name))


def best_rows(rows: Mapping[str, Runs], most: int = MANY) -> tuple[dict[str, Runs], str]:
    """All rows in their order if a figure can show them, else the best and all without a choice; and words for that."""
    if len(rows) <= most:
        return dict(rows), ""
    kept = {row for row in rows if row == NONE or is_control(row)}
    by_accuracy = sorted((row for row in rows if row not in kept), key=lambda row: -(mean(rows[row]).value or 0.0))
    kept |= set(by_accuracy[: max(1, most - len(kept))])
    return {row: runs for row, runs in rows.items() if row in kept}, f" The best {len(kept)} of {len(rows)} rows."


def first_lines(lines: Mapping[str, Runs], most: int = FIRST) -> frozenset[str]:
    """The lines to look at first: the best, running statistics without a memory, the source model, the best memory, no
    memory; then the next best.
    """
    ordered = sorted(lines, key=lambda name: -(mean(lines[name]).value or 0.0))
    specs = {name: lines[name][0].spec for name in ordered}
    ranked = [name for name in ordered if not specs[name].control]
    controls = [name for name in ordered if specs[name].control == "running_statistics"]
    source = [name for name in ranked if specs[name].method.name == SOURCE and lines[name][0].prior == "none"]
    memories = [name for name in ranked if specs[name].memory.name != NONE]
    bare = [name for name in ranked if name not in memories and _predicts_as_usual(lines[name][0])]
    chosen = [*ranked[:1], *controls[:1], *source, *memories[:1], *bare[:1], *ranked, *ordered]
    return frozenset(list(dict.fromkeys(chosen))[:most])


def _predicts_as_usual(run: Run) -> bool:
    """Is it a method by itself, without a prior or statistics by class?"""
    return run.prior == "none" and run.spec.method.name != SOURCE and run.spec.method.statistics not in BY_LEVEL


def keep_lines(lines: Mapping[str, Runs], most: int = MANY) -> tuple[dict[str, Runs], str]:
    """All lines in their order if a figure can show them, else those to look at first; and words for that."""
    if len(lines) <= most:
        return dict(lines), ""
    chosen = first_lines(lines, most)
    told = f" {most} of {len(lines)} rows: the best, and what there is to compare with."
    return {name: runs for name, runs in lines.items() if name in chosen}, told


def mean(runs: Sequence[Run], name: str = "accuracy") -> Cell:
    """The number of these runs over their seeds."""
    return over_seeds(by_seed(runs, number(name)), 1)


def slug(text: str) -> str:
    """As part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "x"
