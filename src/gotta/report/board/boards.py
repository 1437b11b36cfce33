"""Runs ranked: a board for each protocol and set-up, with everything a reader needs to doubt a rank."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gotta.experiment.recipe.protocol import Protocol, find_protocol, load_protocol
from gotta.report.pairs import fair_difference, samples_per_step
from gotta.report.panel import SOURCE, Panel, Runs, is_control, place
from gotta.report.paper.numbers import Published
from gotta.report.paper.side_by_side import find_published
from gotta.report.stored_run import Run
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.cells import Cell, over_seeds
from gotta.report.tables.comparison import by_seed, number

NO_PRIOR = "none"
PRIOR_IN_LABEL = re.compile(r",? (prior=\w+|\w+ prior( per batch)?)(?= |$)")  # it has a column of its own
SHORTEST = 1000  # samples of a cost


@dataclass(frozen=True)
class Entry:
    """A method with its memory or control, over its seeds. Controls, and the bare source model, have no rank."""

    rank: int | None
    method: str
    memory: str
    prior: str
    score: Cell
    steps: str  # samples between two predictions
    forwards: Cell  # samples through the network, for each sample of the stream
    seconds: Cell  # for 1,000 samples
    published: Published | None
    runs: Runs

    @property
    def is_control(self) -> bool:
        return is_control(self.memory)

    @property
    def ids(self) -> str:
        return ",".join(run.id for run in sorted(self.runs, key=lambda run: (run.seed, run.id)))


@dataclass(frozen=True)
class Board:
    """The entries of one set-up, best first."""

    protocol: Protocol
    panel: Panel
    entries: tuple[Entry, ...]
    number: int  # among the boards of its protocol

    @property
    def anchor(self) -> str:
        return f"{self.protocol.name}-{self.number}"

    @property
    def title(self) -> str:
        run = self.panel.runs[0]
        images = {domain.samples for run in self.panel.runs for domain in run.summary.online.domains}
        several = {len(run.domains) for run in self.panel.runs}
        capacity = {run.spec.memory.capacity for run in self.panel.runs} - {None}
        sizes = [f"{_span(several)} domains of {_span(images)} samples"]
        sizes += [f"M = {_span(capacity)}"] if capacity else []
        return ", ".join([run.spec.data.name, run.spec.model.name, *sizes])

    @property
    def setup(self) -> list[str]:
        return setup_lines(self.panel)

    @property
    def seeds(self) -> int:
        return max(entry.score.seeds for entry in self.entries)


def rank_runs(runs: Sequence[Run]) -> tuple[list[Board], int]:
    """The boards by protocol, those with most runs and the largest streams first; how many runs are of no protocol."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        protocol = find_protocol(run.spec)
        members.setdefault(protocol.name if protocol else "", []).append(run)
    others = members.pop("", [])
    found = []
    for name in sorted(members, key=lambda name: (-len(members[name]), name)):
        panels = sorted(place(members[name]).panels, key=_size, reverse=True)
        protocol = load_protocol(name)
        found += [Board(protocol, panel, _entries(protocol, panel), k) for k, panel in enumerate(panels, 1)]
    return found, len(others)


def _entries(protocol: Protocol, panel: Panel) -> tuple[Entry, ...]:
    cells = [(column, row, runs) for column, row, runs in panel.filled]
    entries = [_entry(protocol, *cell) for cell in cells]
    entries = [entry for entry in entries if entry.score.value is not None]
    entries.sort(key=lambda entry: (-(entry.score.value or 0.0), entry.method, entry.memory))
    contest = [entry for entry in entries if not entry.is_control and (entry.method, entry.prior) != (SOURCE, NO_PRIOR)]
    ranks = {entry.ids: rank for rank, entry in enumerate(contest, 1)}
    rivals = contest if protocol.score.number == "accuracy" else []  # differences are known of the accuracy alone
    return tuple(_placed(entry, ranks.get(entry.ids), rivals) for entry in entries)


def _placed(entry: Entry, rank: int | None, contest: Sequence[Entry]) -> Entry:
    """With its rank, and a mark if it cannot be told from the first, which must take steps of the same size."""
    tied = bool(contest) and rank is not None and rank > 1 and fair_difference(entry.runs, contest[0].runs).tied
    return replace(entry, rank=rank, score=replace(entry.score, tied=tied))


def _entry(protocol: Protocol, column: str, row: str, runs: Runs) -> Entry:
    method = PRIOR_IN_LABEL.sub("", column)
    capacity = runs[0].spec.memory.capacity
    return Entry(
        None,
        method,
        row,
        runs[0].prior,
        over_seeds(by_seed(runs, number(protocol.score.number)), 1),
        " and ".join(map(str, samples_per_step(runs))),
        over_seeds(by_seed(runs, lambda run: _per_sample(run, "cost.total.samples")), 1, interval=False),
        over_seeds(by_seed(runs, lambda run: _per_sample(run, "cost.total.seconds", SHORTEST)), 2, interval=False),
        next((found for run in runs if (found := find_published(run, capacity)) is not None), None),
        runs,
    )


def _per_sample(run: Run, name: str, times: int = 1) -> float | None:
    samples = sum(domain.samples for domain in run.summary.online.domains)
    value = run.numbers.get(name)
    return None if value is None or not samples else times * value / samples


def _size(panel: Panel) -> tuple[int, int]:
    return max(sum(domain.samples for domain in run.summary.online.domains) for run in panel.runs), len(panel.runs)


def _span(values: set[int] | set[int | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}" if known else "no"
