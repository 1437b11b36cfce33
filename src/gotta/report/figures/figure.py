"""What a figure is, how a file of this folder adds one, and what several of them need."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gotta.registry import Registry
from gotta.report.figures.drawing import Drawing
from gotta.report.panel import Entry, Panel
from gotta.report.rows import NO_MEMORY, RUNNING

WIDTH = 760.0
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


def first_lines(entries: Sequence[Entry], most: int = FIRST) -> list[Entry]:
    """The lines to look at first: the best, running statistics without a memory, the source model, the best memory, no
    memory; then the next best.
    """
    ordered = sorted(entries, key=lambda entry: -entry.mean)
    ranked = [entry for entry in ordered if not entry.row.is_control]
    chosen = [
        *ranked[:1],
        *[entry for entry in ordered if entry.row == RUNNING][:1],
        *[entry for entry in ranked if entry.column.is_bare_source],
        *[entry for entry in ranked if entry.row.is_memory][:1],
        *[entry for entry in ranked if _is_bare(entry)][:1],
    ]
    return list(dict.fromkeys([*chosen, *ranked, *ordered]))[:most]


def _is_bare(entry: Entry) -> bool:
    """Is it a method by itself, without a memory, a prior or statistics by class?"""
    return entry.row == NO_MEMORY and entry.is_about_memories and not entry.column.is_source


def keep_lines(entries: Iterable[Entry], most: int = MANY, controls: bool = False) -> tuple[list[Entry], str]:
    """All lines in their order if a figure can show them, else those to look at first; and a sentence that says so.

    With `controls` all of these stay, and no memory.
    """
    known = list(entries)
    if len(known) <= most:
        return known, ""
    fixed = [entry for entry in known if controls and (entry.row.is_control or entry.row == NO_MEMORY)]
    others = [entry for entry in known if entry not in fixed]
    chosen = [*fixed, *first_lines(others, max(1, most - len(fixed)))]
    told = f" {len(chosen)} of {len(known)} rows: the best, and what there is to compare with."
    return [entry for entry in known if entry in chosen], told


def slug(text: str) -> str:
    """As part of the name of a file."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-").lower() or "x"
