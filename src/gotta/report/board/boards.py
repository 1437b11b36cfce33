"""Runs ranked: a board for each protocol and set-up, with everything a reader needs to doubt a rank."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from gotta.experiment.recipe.protocol import Protocol, find_protocol, load_protocol
from gotta.memory.policy import policies
from gotta.report.pairs import fair_difference, samples_per_step
from gotta.report.panel import NONE, SOURCE, Panel, Runs, is_control, place
from gotta.report.paper.agreement import rank_in
from gotta.report.paper.numbers import Published
from gotta.report.paper.side_by_side import find_published
from gotta.report.rates import AT_BEST
from gotta.report.stored_run import Run
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.cells import Cell, over_seeds
from gotta.report.tables.comparison import by_seed, number

NO_PRIOR = "none"
PRIOR_IN_LABEL = re.compile(r",? (prior=\w+|\w+ prior( per batch)?)(?= |$)")  # it has a column of its own
SHORTEST = 1000  # samples of a cost
PARTIAL = ("per_class", "limit", "clips", "frames", "classes")  # settings that take a part of the data
WHOLE = {  # images in each domain
    "cifar10-mini": 2_000,
    "cifar10_c": 10_000,
    "cifar100_c": 10_000,
    "tinyimagenet": 10_000,
    "imagenet_c": 50_000,
}


@dataclass(frozen=True)
class Entry:
    """A method with its memory or control, over its seeds.

    Controls, the bare source model and variants have no rank: a `variant` is a memory with arguments of its own beside
    the same memory as it comes.
    """

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
    variant: bool = False

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
    whole: bool  # do its runs have all images of their data? Others are shown and not ranked

    @property
    def anchor(self) -> str:
        return f"{self.protocol.name}-{self.number}"

    @property
    def title(self) -> str:
        run = self.panel.runs[0]
        images = {domain.samples for run in self.panel.runs for domain in run.summary.online.domains}
        several = {len(run.domains) for run in self.panel.runs}
        capacity = {run.spec.memory.capacity for run in self.panel.runs} - {None}
        sizes = [f"{_span(several)} {'domain' if several == {1} else 'domains'} of {_span(images)} samples"]
        sizes += [f"M = {_span(capacity)}"] if capacity else []
        return ", ".join([run.spec.data.name, run.spec.model.name, *sizes])

    @property
    def setup(self) -> list[str]:
        return setup_lines(self.panel)

    @property
    def seeds(self) -> int:
        return max(entry.score.seeds for entry in self.entries)


def rank_runs(runs: Sequence[Run]) -> tuple[list[Board], int]:
    """The boards by protocol, those of whole data and the largest streams first; how many runs are of no protocol."""
    members: dict[str, list[Run]] = {}
    for run in runs:
        protocol = find_protocol(run.spec)
        members.setdefault(protocol.name if protocol else "", []).append(run)
    others = members.pop("", [])
    found = []
    for name in sorted(members, key=lambda name: (not any(map(_is_whole, members[name])), -len(members[name]), name)):
        panels = sorted(place(members[name]).panels, key=_size, reverse=True)
        protocol = load_protocol(name)
        for k, panel in enumerate(panels, 1):
            whole = is_whole(panel.runs)
            found.append(Board(protocol, panel, _entries(protocol, panel, whole), k, whole))
    return found, len(others)


def is_whole(runs: Sequence[Run]) -> bool:
    """Did all of these runs meet every image of their data in each domain?"""
    return all(_is_whole(run) for run in runs)


def _is_whole(run: Run) -> bool:
    if all(run.settings.get(f"stream.{name}") is None for name in PARTIAL):
        return True
    images = WHOLE.get(run.spec.data.name)
    return images is not None and all(domain.samples >= images for domain in run.summary.online.domains)


def _entries(protocol: Protocol, panel: Panel, whole: bool) -> tuple[Entry, ...]:
    entries = collapse_variants([_entry(protocol, *cell) for cell in panel.filled])
    entries = [entry for entry in entries if entry.score.value is not None]
    entries.sort(key=lambda entry: (-(entry.score.value or 0.0), entry.method, entry.memory))
    contest = [entry for entry in entries if whole and _can_be_ranked(entry)]
    numbers = [float(entry.score.number) for entry in contest]
    ranks = {entry.ids: rank_in(float(entry.score.number), numbers) for entry in contest}
    rivals = contest if protocol.score.number == "accuracy" else []  # differences are known of the accuracy alone
    return tuple(_placed(entry, ranks.get(entry.ids), rivals) for entry in entries)


def _can_be_ranked(entry: Entry) -> bool:
    return not (entry.is_control or entry.variant or (entry.method, entry.prior) == (SOURCE, NO_PRIOR))


def collapse_variants(entries: Sequence[Entry]) -> list[Entry]:
    """Of entries that differ in the arguments of their memory alone one stands for it: the memory as it comes, else the
    one with fewest arguments of its own, never the best. The others are its variants.
    """
    groups: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        alone = entry.runs[0].spec.memory.name == NONE or entry.is_control
        key = (entry.method, entry.prior, _bare_name(entry), entry.steps)
        groups.setdefault((entry.ids,) if alone else key, []).append(entry)
    found = []
    for group in groups.values():
        first = min(group, key=lambda entry: (len(own_arguments(entry.runs[0])), entry.memory))
        found += [replace(entry, variant=True) for entry in group if entry is not first]
        usual = len(group) > 1 and not own_arguments(first.runs[0])
        found.append(replace(first, memory=_bare_name(first)) if usual else first)
    return found


def _bare_name(entry: Entry) -> str:
    """The memory without its arguments."""
    _, at_best, rate = entry.memory.partition(AT_BEST)
    return entry.runs[0].spec.memory.name + at_best + rate.partition(")")[0] + (")" if rate else "")


def own_arguments(run: Run) -> dict[str, Any]:
    """The arguments of the memory that it does not have anyway."""
    memory = run.spec.memory
    given = {**memory.arguments, "refresh_every": memory.refresh_every}
    usual = _usual_arguments(memory.name)
    return {name: value for name, value in given.items() if value is not None and value != usual.get(name)}


def _usual_arguments(name: str) -> dict[str, Any]:
    policy = policies.get(name) if name in policies.names() else None
    return {field.name: field.default for field in fields(policy)} if is_dataclass(policy) else {}


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


def _size(panel: Panel) -> tuple[bool, int, int]:
    return (
        is_whole(panel.runs),
        max(sum(domain.samples for domain in run.summary.online.domains) for run in panel.runs),
        len(panel.runs),
    )


def _span(values: set[int] | set[int | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}" if known else "no"
