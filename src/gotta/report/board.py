"""The leaderboard: runs ranked by protocol and set-up, with everything a reader needs to doubt a rank; and its page."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.recipe.protocol import Protocol, content_hash, find_protocol, load_protocol, text_of
from gotta.experiment.spec.text import dump
from gotta.experiment.sweep.kept import OTHER, VERIFIED, read_verified
from gotta.files import write_atomically
from gotta.groups import group
from gotta.report.cells import BEST, Cell, Line, Table, Value, measure, number
from gotta.report.page.webpage import render, run_facts
from gotta.report.panel import Entry, Panel, place
from gotta.report.paper.side_by_side import printed_of, rank_in
from gotta.report.results import Results
from gotta.report.rows import Row
from gotta.report.statistics import FOR_A_CELL
from gotta.report.stored_run import Run
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.comparison import beside_best

SHORTEST = 1000  # samples of a cost
PARTIAL = ("per_class", "limit", "clips", "frames", "classes")  # settings that take a part of the data
WHOLE = {  # images in each domain
    "cifar10-mini": 2_000,
    "cifar10_c": 10_000,
    "cifar100_c": 10_000,
    "tinyimagenet": 10_000,
    "imagenet_c": 50_000,
}
SECTIONS = {False: "Each sample on its own", True: "Uses the order of samples or the mix of a batch"}
COLUMNS = ("rank", "accuracy", "seeds", "step", "forwards", "seconds", "published", "verified")


@dataclass(frozen=True, eq=False)
class Place:
    """An entry with its score and rank.

    Controls, the bare source model and variants have no rank: a `variant` is a memory with arguments of its own beside
    the same memory as it comes.
    """

    entry: Entry
    row: Row
    score: Cell
    rank: int | None = None
    variant: bool = False
    verified: bool = False  # a run of it was run again, and gave the same

    @property
    def can_be_ranked(self) -> bool:
        return not (self.row.is_control or self.variant or self.entry.column.is_bare_source)

    @property
    def line(self) -> Line:
        """As a table shows it."""
        runs = self.entry.runs
        published = printed_of(self.entry, runs[0].spec.memory.capacity)
        costs = (("cost.total.samples", 1, 1), ("cost.total.seconds", SHORTEST, 2))
        measured = [measure(runs, _per_sample(name, times), digits, False) for name, times, digits in costs]
        cells = [
            Cell(absent=str(self.rank or "–")),
            replace(self.score, mark=BEST if self.rank == 1 else ""),
            Cell(absent=str(self.score.seeds)),
            Cell(absent=" and ".join(map(str, self.entry.steps))),
            *(replace(cost, uses_order=False) for cost in measured),
            Cell(published.value, None, self.score.seeds, published.decimals) if published else Cell(),
            Cell(absent="yes" if self.verified else ""),
        ]
        return Line((self.entry.column.label, self.row.label), tuple(cells), not self.row.is_control)


@dataclass(frozen=True, eq=False)
class Board:
    """The entries of one set-up: those that judge each sample on its own, then those that use the order of samples; in
    each section those that are verified first, then those with enough seeds, then by score.
    """

    protocol: Protocol
    panel: Panel
    places: tuple[Place, ...]
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
    def tables(self) -> list[Table]:
        """A table for each section, and one with the variants."""
        variants = "Variants: memories with other arguments"
        shown = group(self.places, lambda place: variants if place.variant else SECTIONS[_uses_order(place)])
        return [
            Table(title, ("method", "memory"), COLUMNS, tuple(place.line for place in shown[title]), self._notes)
            for title in (*SECTIONS.values(), variants)
            if title in shown
        ]

    @property
    def _notes(self) -> tuple[str, ...]:
        few = max(place.score.seeds for place in self.places) < FOR_A_CELL
        told = "Too few seeds for an interval." if few else "± is the 95 % interval over other seeds."
        return (told,) if self.whole else ("A part of the data, so nothing is ranked.", told)


def rank_runs(runs: Sequence[Run], verified: Collection[str] = ()) -> tuple[list[Board], int]:
    """The boards by protocol, those of whole data and the largest streams first; how many runs are of no protocol.

    `verified` are the ids of runs that were run again and gave the same.
    """
    members = group(runs, lambda run: protocol.name if (protocol := find_protocol(run.spec)) else "")
    others = members.pop("", [])
    found = []
    for name in sorted(members, key=lambda name: (not any(map(is_whole, members[name])), -len(members[name]), name)):
        panels = sorted(place(members[name]).panels, key=_size, reverse=True)
        protocol = load_protocol(name)
        for k, panel in enumerate(panels, 1):
            whole = all(map(is_whole, panel.runs))
            found.append(Board(protocol, panel, _places(protocol, panel, whole, verified), k, whole))
    return found, len(others)


def is_whole(run: Run) -> bool:
    """Did it meet every image of its data in each domain?"""
    if all(run.settings.get(f"stream.{name}") is None for name in PARTIAL):
        return True
    images = WHOLE.get(run.spec.data.name)
    return images is not None and all(domain.samples >= images for domain in run.summary.online.domains)


def _places(protocol: Protocol, panel: Panel, whole: bool, verified: Collection[str]) -> tuple[Place, ...]:
    score = number(protocol.score.number)
    known = [
        Place(entry, entry.row, measure(entry.runs, score), verified=any(run.id in verified for run in entry.runs))
        for entry in panel.entries
    ]
    found = [place for place in collapse_variants(known) if place.score.value is not None]
    found.sort(key=_order)
    sections = [[p for p in found if whole and p.can_be_ranked and _uses_order(p) == order] for order in SECTIONS]
    return tuple(_ranked(place, sections[_uses_order(place)], protocol) for place in found)


def _order(place: Place) -> tuple[bool, bool, bool, float]:
    few = place.score.seeds < FOR_A_CELL
    return _uses_order(place), not place.verified, few, -(place.score.value or 0.0)


def collapse_variants(places: Sequence[Place]) -> list[Place]:
    """Of entries that differ in the arguments of their memory alone one stands for it: the memory as it comes, else the
    one with fewest arguments of its own, never the best. The others are its variants.
    """

    def apart_from_arguments(place: Place) -> tuple[Any, ...]:
        row, entry = place.row, place.entry
        return entry.column, replace(row, settings=()) if row.is_memory else row, entry.steps

    found = []
    for alike in group(places, apart_from_arguments).values():
        first = min(alike, key=lambda place: (len(place.entry.runs[0].own_of_memory), place.row.label))
        found += [replace(place, variant=True) for place in alike if place is not first]
        usual = len(alike) > 1 and not first.entry.runs[0].own_of_memory
        found.append(replace(first, row=replace(first.row, settings=())) if usual else first)
    return found


def _ranked(place: Place, contest: Sequence[Place], protocol: Protocol) -> Place:
    """With its rank, and a mark if it is not significantly different from the first, or takes other steps."""
    if place not in contest:
        return place
    rank = rank_in(float(place.score.number), [float(other.score.number) for other in contest])
    first = max(contest, key=lambda other: other.score.value or 0.0)
    if rank == 1 or protocol.score.number != "accuracy":  # differences are known of the accuracy alone
        return replace(place, rank=rank)
    return replace(place, rank=rank, score=beside_best(place.score, place.entry, first.entry))


def _uses_order(place: Place) -> bool:
    return place.entry.column.uses_order


def _per_sample(name: str, times: int) -> Value:
    def value(run: Run) -> float | None:
        samples = sum(domain.samples for domain in run.summary.online.domains)
        return times * run.numbers[name] / samples if samples and name in run.numbers else None

    return value


def _size(panel: Panel) -> tuple[bool, int, int]:
    return (
        all(map(is_whole, panel.runs)),
        max(sum(domain.samples for domain in run.summary.online.domains) for run in panel.runs),
        len(panel.runs),
    )


def _span(values: set[int] | set[int | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return f"{known[0]:,}" if len(known) == 1 else f"{known[0]:,} to {known[-1]:,}" if known else "no"


SPECS, PROTOCOLS = "specs", "protocols"
SPEC_FILE = re.compile(r"[0-9a-f]{16}\.yaml")


def write_leaderboard(results: Results, to: Path) -> Path:
    """Write index.html, specs/ and protocols/; the path of the page."""
    boards, others = rank_runs(results.runs, find_verified(results))
    if not boards:
        raise GottaError(
            f"no run in '{results.root}' is of a protocol, so there is nothing to rank. See `gotta ls protocols`."
        )
    shown = [run for board in boards for run in board.panel.runs]
    for run in shown:
        write_atomically(to / SPECS / f"{run.id}.yaml", dump(run.stored.spec))
    for name in {board.protocol.name for board in boards}:
        write_atomically(to / PROTOCOLS / f"{name}.yaml", text_of(name))
    path = to / "index.html"
    write_atomically(path, board_page(results, boards, others))
    known = {f"{run.id}.yaml" for run in shown}
    for left in (to / SPECS).iterdir():  # of an earlier state of the runs
        if SPEC_FILE.fullmatch(left.name) and left.name not in known:
            left.unlink(missing_ok=True)
    return path


def find_verified(results: Results) -> set[str]:
    """The runs that `gotta verify` ran again, with the same numbers, as the file beside them says."""
    folder = results.root if results.root.is_dir() else results.root.parent
    found = read_verified(folder / VERIFIED, [run.stored for run in results.runs])
    return {id for id, one in found.items() if one.outcome != OTHER}


def board_page(results: Results, boards: Sequence[Board], others: int) -> str:
    """The page; `others` runs are of no protocol."""
    shown = {run.id: run for board in boards for run in board.panel.runs}
    facts = run_facts(place(shown.values()).whole)
    for id, run in shown.items():
        path = f"{SPECS}/{id}.yaml"
        facts[id] |= {"spec": path, "text": dump(run.stored.spec), "command": f"gotta run {path}"}
    by_protocol = group(boards, lambda board: board.protocol.name).values()
    context = {"boards": boards, "by_protocol": by_protocol, "hash_of": content_hash, "others": others}
    return render("board.html.j2", results, facts, context)
