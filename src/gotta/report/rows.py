"""What a row and a column of a table are, as values; what they are called follows from that."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gotta.methods import methods
from gotta.report.stored_run import Run, is_number

SOURCE, NORM = "source", "norm"
MEMORIES = ("none", "fifo", "cbfifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd")  # in this order, then others
METHODS = ("source", "norm", "rotta", "note", "sar", "eata", "cotta", "tent", "pl", "shot", "energy")
BY_LEVEL = ("class", "gated")  # statistics that follow the domain by themselves
PRIORS = ("none", "ema", "oatta", "sticky", "patient")
CONTROLS = {
    "running_statistics": "running statistics",
    "same_samples": "same samples per step",
    "true_kcenter": "k-centre by true labels",
    "true_cstu": "CSTU by true labels",
    "true_pbrs": "PBRS by true labels",
    "domain_statistics": "statistics of the whole domain",
}
BOUNDARIES = "stream.boundaries"  # whether a prior is told where clips begin: the samples are the same
Settings = tuple[tuple[str, Any], ...]
Kind = Literal["none", "memory", "statistics", "control"]


@dataclass(frozen=True)
class Row:
    """What is added to a method: nothing, a memory, statistics by level, or what a control has instead.

    `best_rates` are the rates of a row at its best ones, by method; `settings` tell it from other rows of its name.
    """

    kind: Kind = "none"
    name: str = "none"
    best_rates: tuple[tuple[str, float], ...] = ()
    settings: Settings = ()

    @property
    def label(self) -> str:
        """Without a comma, so that it can stand in a list."""
        rates = f" at best rate ({tell_rates(self.best_rates)})" if self.best_rates else ""
        return self.bare + rates + tell_settings(self.settings)

    @property
    def bare(self) -> str:
        """Without rates and settings."""
        if self.kind == "control":
            return f"control: {self.short}"
        return f"{self.name} statistics" if self.kind == "statistics" else self.name

    @property
    def short(self) -> str:
        return CONTROLS.get(self.name, self.name.replace("_", " ")) if self.kind == "control" else self.bare

    @property
    def is_control(self) -> bool:
        """Is it there to compare with, not to win?"""
        return self.kind == "control"

    @property
    def is_memory(self) -> bool:
        return self.kind == "memory"

    @property
    def usual(self) -> "Row":
        """The same at the default rate."""
        return replace(self, best_rates=())

    def plain(self) -> "Row":
        """Without rates and settings: what it is drawn as."""
        return Row(self.kind, self.name)

    @property
    def position(self) -> tuple[Any, ...]:
        """Its place in a table."""
        known = tuple(CONTROLS) if self.is_control else MEMORIES
        place = len(known) + 1 if self.kind == "statistics" else _place(self.name, known)
        values = tuple((name, *sortable(value)) for name, value in self.settings)
        return self.is_control, place, self.name, bool(self.best_rates), values, self.label


NO_MEMORY = Row()
RUNNING, SAME_SAMPLES = Row("control", "running_statistics"), Row("control", "same_samples")


@dataclass(frozen=True)
class Column:
    """A method with its prior. Predictions with a prior use the order of samples, so they have columns of their own."""

    method: str
    prior: str = "none"
    per_batch: bool = False  # the order inside a batch is not used
    hidden: bool = False  # the prior is not told where clips begin
    uses_order: bool = False  # or the mix of a batch, which no memory could give
    settings: Settings = ()
    statistics: str = SOURCE  # of the empty method, which is no longer the source model with others

    @property
    def label(self) -> str:
        return self.told_method + self.told_prior

    @property
    def told_method(self) -> str:
        statistics = "" if self.statistics == SOURCE else f" ({self.statistics} statistics)"
        return self.method + statistics + tell_settings(self.settings)

    @property
    def told_prior(self) -> str:
        if self.prior == "none":
            return ""
        return f" with {self.prior} prior{' per batch' * self.per_batch}{' (clips hidden)' * self.hidden}"

    @property
    def is_source(self) -> bool:
        """The source model, by itself or with a prior: no memory can change it."""
        return self.method == self.statistics == SOURCE

    @property
    def is_bare_source(self) -> bool:
        return self.is_source and self.prior == "none"

    @property
    def position(self) -> tuple[Any, ...]:
        values = tuple((name, *sortable(value)) for name, value in self.settings)
        return _place(self.method, METHODS), self.method, values, _place(self.prior, PRIORS), self.label


def row_of(run: Run) -> Row:
    """Its row, without what tells it from others of that name."""
    if run.spec.method.name == SOURCE:  # it never adapts: whatever memory it ran with, it is the same run
        return NO_MEMORY
    if run.spec.control:
        return Row("control", run.spec.control)
    if run.spec.memory.name != "none":
        return Row("memory", run.spec.memory.name)
    return Row("statistics", str(run.spec.method.statistics)) if _has_levels(run) else NO_MEMORY


def column_of(run: Run) -> Column:
    """Its column, without what tells it from others of that method and prior."""
    method, has_prior = run.spec.method, run.prior != "none"
    return Column(
        method.name,
        run.prior,
        has_prior and method.order_in_batch not in (None, "time"),
        has_prior and run.settings.get(BOUNDARIES) == "hidden",
        run.uses_order,
        statistics=method.statistics or SOURCE if method.name == SOURCE else SOURCE,
    )


def name_cell(column: Column, row: Row) -> str:
    """A method with its memory, statistics or control in words; without a comma, so that it can stand in a list."""
    method = column.told_method
    if column.is_source:
        return f"the source model{column.told_prior}"
    if row.kind == "none":
        return f"{method} without a memory" if column == Column(NORM) else column.label
    added = f"{row.short} (control){tell_settings(row.settings)}" if row.is_control else row.label
    return f"{method} + {added}{column.told_prior}"


def tell_settings(settings: Settings) -> str:
    return "".join(f" {name.split('.')[-1]}={value}" for name, value in settings)


def tell_rates(rates: Sequence[tuple[str, float]]) -> str:
    """One number, or one for each method."""
    if len({rate for _, rate in rates}) == 1:
        return f"{rates[0][1]:g}"
    return "; ".join(f"{method} {rate:g}" for method, rate in rates)


def list_in_words(names: Sequence[str]) -> str:
    """As a sentence has it.

    >>> list_in_words(["fps", "cds", "fifo"])
    'fps, cds and fifo'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def _has_levels(run: Run) -> bool:
    """Does it predict with class or gated statistics, which are not its method's own?"""
    name, chosen = run.spec.method.name, run.spec.method.statistics
    return chosen in BY_LEVEL and name in methods.names() and methods.get(name).native.name != chosen


def _place(name: str, known: Sequence[str]) -> int:
    return known.index(name) if name in known else len(known)


def sortable(value: Any) -> tuple[int, float, str]:
    """Numbers by their size, before texts."""
    return (0, float(value), "") if is_number(value) else (1, 0.0, str(value))
