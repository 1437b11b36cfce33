"""Our numbers beside the published ones of the same setting, and always what differs in the set-up."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from gotta.experiment.spec.completing import statistics_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.groups import group
from gotta.methods import methods
from gotta.report.cells import Cell, Line, Table
from gotta.report.panel import Entry, Panel
from gotta.report.paper.numbers import EPSILON, Inconsistency, Published, document, inconsistencies, lookup
from gotta.report.rows import SOURCE
from gotta.report.stored_run import Run


@dataclass(frozen=True)
class Agreement:
    """Kendall's tau-b over the things both rank; None where there is nothing to order."""

    tau: float | None
    names: tuple[str, ...]

    def __str__(self) -> str:
        shown = "not defined" if self.tau is None else f"{self.tau:+.2f}"
        return f"{shown} (n={len(self.names)})"


def agreement(ours: Mapping[str, float], theirs: Mapping[str, float]) -> Agreement:
    """Over the names that both have."""
    names = tuple(name for name in ours if name in theirs)
    return Agreement(tau_b([ours[name] for name in names], [theirs[name] for name in names]), names)


def rank_in(value: float, values: Sequence[float]) -> int:
    """1 for the highest; equal ones share the better rank.

    >>> [rank_in(value, [50, 60, 60, 40]) for value in (60, 50, 40)]
    [1, 3, 4]
    """
    return 1 + sum(other > value for other in values)


def tau_b(first: Sequence[float], second: Sequence[float]) -> float | None:
    """1 is the same order, -1 the reverse; pairs tied in one of the two count against both. None if all are tied.

    >>> tau_b([1, 2, 3], [10, 30, 20])
    0.3333333333333333
    """
    a, b = (np.sign(np.subtract.outer(values, values)).ravel() for values in (first, second))
    untied = float((a @ a) * (b @ b))
    return float(a @ b) / sqrt(untied) if untied else None


FAMILIES = {"cifar10-c": "cifar10", "imagenet-c": "imagenet", "itd": "itd"}  # the paper's data set: ours begin so
BACKBONES = {"cifar10-c": "wrn-28-10", "imagenet-c": "resnet50", "itd": "resnet18"}


@dataclass(frozen=True)
class Pair:
    """One cell of ours and the published number of its setting."""

    method: str
    memory: str
    ours: Cell
    published: Published

    @property
    def difference(self) -> float:
        assert self.ours.value is not None
        return self.ours.value - self.published.value


@dataclass(frozen=True)
class Beside:
    """The cells of one panel that the paper has too, column by column, and in words what differs in the set-up."""

    pairs: tuple[Pair, ...]
    differs: tuple[str, ...]

    @cached_property
    def cells(self) -> dict[str, dict[str, Pair]]:
        """By memory and method."""
        rows = group(self.pairs, lambda pair: pair.memory)
        return {memory: {pair.method: pair for pair in pairs} for memory, pairs in rows.items()}

    @cached_property
    def columns(self) -> dict[str, list[Pair]]:
        """By method."""
        return group(self.pairs, lambda pair: pair.method)

    @cached_property
    def taus(self) -> dict[str, Agreement]:
        """Kendall's tau-b between our ranking of the memories and the printed one, for each column with two or more."""
        found = {}
        for method, column in self.columns.items():
            ours = {pair.memory: pair.ours.value for pair in column if pair.ours.value is not None}
            found[method] = agreement(ours, {pair.memory: pair.published.value for pair in column})
        return {method: tau for method, tau in found.items() if len(tau.names) > 1}

    def ranks(self, pair: Pair) -> tuple[int, int]:
        """Our rank of its memory, and the printed one."""
        column = self.columns[pair.method]
        ours = rank_in(float(pair.ours.number), [float(other.ours.number) for other in column])
        return ours, rank_in(pair.published.value, [other.published.value for other in column])

    @cached_property
    def flags(self) -> tuple[Inconsistency, ...]:
        """The paper's inconsistencies that touch a cell here, numbered from 1 in `notes`."""
        places = {pair.published.place for pair in self.pairs}
        return tuple(flag for flag in inconsistencies() if places & set(flag.places))

    def notes(self, pair: Pair) -> list[int]:
        """The numbers of the flags of a cell."""
        return [k for k, flag in enumerate(self.flags, 1) if pair.published.place in flag.places]


def beside(panel: Panel) -> Beside | None:
    """None where the paper has no number of this setting."""
    usual = usual_capacity(panel)
    pairs = [
        Pair(entry.column.label, entry.row.label, entry.accuracy, printed)
        for entry in panel.entries
        if entry.accuracy.value is not None and (printed := printed_of(entry, usual)) is not None
    ]
    return Beside(tuple(pairs), tuple(_differences(panel, pairs))) if pairs else None


def printed_of(entry: Entry, capacity: int | None) -> Published | None:
    """The printed number of an entry's setting."""
    return next((found for run in entry.runs if (found := find_published(run, capacity)) is not None), None)


def usual_capacity(panel: Panel) -> int | None:
    """The capacity that most runs have: it chooses among the printed rows without a memory."""
    capacities = Counter(run.spec.memory.capacity for run in panel.runs if run.spec.memory.capacity is not None)
    return capacities.most_common(1)[0][0] if capacities else None


def beside_table(found: Beside) -> Table:
    """Ours, published, difference."""
    rows = [Line((pair.method, pair.memory), _cells(pair), False) for pair in found.pairs]
    columns = ("ours", "published", "difference", "where")
    return Table("Beside the paper", ("method", "memory"), columns, tuple(rows), tuple(_caption(found)))


def find_published(run: Run, capacity: int | None = None) -> Published | None:
    """The printed cell of a run's setting. Rows without a memory differ between tables: `capacity` chooses one."""
    spec = run.spec
    data = next((name for name, start in FAMILIES.items() if spec.data.name.startswith(start)), None)
    if data is None or spec.data.name.startswith("cifar100") or not _as_published(run):
        return None
    source = spec.method.name == SOURCE
    found = lookup(
        method=spec.method.name,
        memory="none" if source else spec.memory.name,
        capacity=spec.memory.capacity,
        reset=None if source else spec.regime.reset,
        data=data,
        gamma=run.stream.gamma,
        backbone="vit" if "vit" in spec.model.name and data == "imagenet-c" else BACKBONES[data],
    )
    return next((cell for cell in found if cell.capacity == capacity), found[0] if found else None)


def _differences(panel: Panel, pairs: Sequence[Pair]) -> list[str]:
    """What differs in the set-up between these runs and the published ones, in words."""
    specs = [run.spec for run in panel.runs]
    data = _values(pair.published.data for pair in pairs)
    images = _values(domain.samples for run in panel.runs for domain in run.summary.online.domains)
    theirs = _values(document()["images_per_domain"].get(pair.published.data, "not stated") for pair in pairs)
    seeds = len({spec.seed for spec in specs})
    regime = _values(spec.regime.name for spec in specs)
    return [
        f"Backbone: ours {_values(spec.model.name for spec in specs)}, "
        f"published {_values(pair.published.backbone for pair in pairs)}.",
        f"Data: ours {_values(spec.data.name for spec in specs)}, published {data}.",
        f"Samples per corruption: ours {images}, published {theirs}.",
        f"Order of the domains: ours {_values(run.stream.domain_order for run in panel.runs)}, published not stated.",
        f"Regime: ours {regime}, published steps of M samples (inferred). Seeds: ours {seeds}, published one.",
    ]


def _cells(pair: Pair) -> tuple[Cell, ...]:
    printed = Cell(pair.published.value, decimals=pair.published.decimals, seeds=pair.ours.seeds)
    ours = Cell(pair.ours.value, pair.ours.interval, pair.ours.seeds)
    change = Cell(pair.difference, seeds=pair.ours.seeds, signed=True)
    return ours, printed, change, Cell(absent=pair.published.where.replace("_", " "))


def _caption(found: Beside) -> list[str]:
    taus = "; ".join(f"{method} {tau}" for method, tau in found.taus.items())
    lines = ["Ours is another set-up, so levels differ; compare the order of the rows.", *found.differs]
    lines += [f"Agreement of the ranking, Kendall's tau-b: {taus}."] if taus else []
    note = f"{len(found.flags)} known inconsistencies of the paper touch these cells; see docs/paper-numbers.md."
    return lines + ([note] if found.flags else [])


def _as_published(run: Run) -> bool:
    spec, stream = run.spec, run.stream
    return (
        (stream.order, stream.schedule, stream.severity) == ("dirichlet", "continual", 5)
        and stream.class_imbalance == stream.duplicates == 1
        and (spec.pairing, spec.regime.clock, spec.method.embedding) == ("paper", "none", "probs")
        and all(name == "epsilon" and value == EPSILON for name, value in run.own_of_memory.items())
        and not (spec.control or spec.regime.exposure.is_limited or stream.foreign)
        and run.prior == "none"
        and has_usual_statistics(spec)
    )


def has_usual_statistics(spec: RunSpec) -> bool:
    """Does the method predict with the statistics, at the rate, that it has if nobody chooses others?"""
    chosen = spec.method
    if chosen.statistics is None or chosen.name not in methods.names():
        return True
    left_open = chosen.model_copy(update={"statistics": None, "fed_by": None, "rate": None})
    usual = statistics_of(spec.model_copy(update={"method": left_open}), methods.get(chosen.name))
    running = (usual.fed_by, usual.rate) if usual.name == "running" else (None, None)
    return (chosen.statistics, chosen.fed_by, chosen.rate) == (usual.name, *running)


def _values(values: Iterable[Any]) -> str:
    return " and ".join(dict.fromkeys(str(value) for value in values if value is not None)) or "not stated"
