"""The paper in one screen, and a page for each of its tables and figures: ours, from the study, beside the printed."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.kept import Kept
from gotta.groups import group
from gotta.methods import methods
from gotta.report.latex import proper
from gotta.report.pairs import Difference, difference, fair_difference
from gotta.report.paper.numbers import EPSILON, PaperTable, Published, tables
from gotta.report.paper.side_by_side import Agreement, agreement, has_usual_statistics
from gotta.report.results import read_results
from gotta.report.rows import MEMORIES
from gotta.report.statistics import PAIRS, SEEDS
from gotta.report.stored_run import Run
from gotta.safe_text import tell_number
from pages.claims import CONFIRMED, NONE, VERDICTS, Judged, claims, told_verdicts
from pages.inconsistencies import text_numbers
from pages.parts import MADE, grid, join, mean, name_of, tell_gap

RUNNING, SAME, DOMAIN = "running_statistics", "same_samples", "domain_statistics"
OURS = {
    "cbfifo": "cbfifo",
    RUNNING: "no memory, running statistics",
    SAME: "no memory, steps of M",
    DOMAIN: "statistics of the whole domain",
}
GUIDED = ("cds", "fps", "fpsd")
EMPTY = "·"
# What stands for the paper's data and network: ours by data set and network.
WORLDS = {
    ("cifar10-c", "wrn-28-10"): ("cifar10_c", "resnet20"),
    ("imagenet-c", "resnet50"): ("tinyimagenet", "resnet50-v1"),
    ("imagenet-c", "vit"): ("cifar10_c", "vit-mini"),
    ("itd", "resnet18"): ("gtsrb", "resnet18-signs"),
}
WORDS = yaml.safe_load((Path(__file__).parent / "study.yaml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Wanted:
    """Which runs a printed cell stands for. `memory` may be a control."""

    world: tuple[str, str]
    method: str
    memory: str
    capacity: int | None
    reset: str = "never"
    gamma: float = 0.1
    order: str = "dirichlet"
    epsilon: float | None = None


@dataclass(frozen=True)
class OnPage(Judged):
    """`control` is running statistics without a memory in the place of `above`, less `below`."""

    control: Difference | None

    @property
    def key(self) -> tuple[Any, ...]:
        one = self.claim
        return one.method, one.words, one.capacity, one.gamma, one.reset, one.data, one.backbone

    @property
    def passes(self) -> str:
        """Does the control pass the claim?"""
        if self.claim.above == NONE or self.control is None or self.control.verdict is None:
            return EMPTY
        return "yes" if self.claim.judge(self.control) == CONFIRMED else "no"


class Study:
    """The runs by what they are, and per cell those of the longest stream."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.cells = group(filter(is_plain, runs), wanted_of)
        self.ids = {run.id for run in runs}

    def find(self, wanted: Wanted) -> tuple[Run, ...]:
        found = self.cells.get(wanted, [])
        longest = max((len(run.domains) for run in found), default=0)
        return tuple(run for run in found if len(run.domains) == longest)

    def values(self, wanted: Sequence[Wanted]) -> list[float | None]:
        """Of cells that stand beside one another: means over the seeds that all of them have."""
        shared = self.seeds(wanted)
        return [mean([run for run in self.find(one) if not shared or run.seed in shared]) for one in wanted]

    def seeds(self, wanted: Sequence[Wanted]) -> set[int]:
        """Those that all of these cells have, apart from cells without runs."""
        seeds = [{run.seed for run in runs} for one in wanted if (runs := self.find(one))]
        return set.intersection(*seeds) if seeds else set()


@dataclass(frozen=True)
class Page:
    """A table or figure of the paper."""

    name: str
    title: str
    about: str = ""
    table: str | None = None
    world: str = "resnet20"  # by its network
    linked: str = ""  # a page of other makers
    recipe: str | None = None  # another one than that of its name, without a study

    @property
    def command(self) -> str:
        return f"    gotta bench {self.name} --study"

    @property
    def planned(self) -> Sequence[RunSpec]:
        return [] if self.name == "teaser" else plan(self.recipe or self.name, "" if self.recipe else "study")

    def fill(self, study: Study) -> list[str]:
        if self.table is not None:
            text = beside(self.cells(), study)
            return [WORDS["legend"], text] if text else []
        return FIGURES[self.name](study)

    def cells(self) -> PaperTable:
        """The printed table; of Table 3 the columns with the data of this page."""
        table = tables()[self.table or ""]
        kept = tuple(cell for cell in table.cells if WORLDS[cell.data, cell.backbone][1] == self.world)
        return PaperTable(table.name, table.title, table.label, kept)


@cache
def plan(recipe: str, variant: str) -> Sequence[RunSpec]:
    return load_recipe(recipe).runs(variant)


def read_study(root: Path) -> Study:
    files = [path for path in Kept(root / "results").files if path.stem.startswith("study-") or path.stem == "signs"]
    return Study([run for path in files for run in read_results(path).runs])


def make(root: Path) -> dict[Path, str]:
    study = read_study(root)
    pages = [Page(name, **about) for name, about in WORDS["pages"].items()]
    made = {root / "docs/results" / f"{page.name}.md": make_page(page, study) for page in pages if not page.linked}
    return {root / "docs/results/paper.md": one_screen(pages, study), **made}


def make_page(page: Page, study: Study) -> str:
    parts = [MADE, f"# {page.title}", page.about]
    filled, judged = page.fill(study), judge(page.name, study)
    if not filled and not judged:
        none = "No run with a memory is kept of this page yet. This command makes them, and `gotta keep` keeps them:"
        return join([*parts, none, page.command])
    ours = f"Ours: {WORDS['stand_ins'][page.world]}.{tell_source(page, study)}"
    parts += [page.command, ours, tell_runs(page, study), *filled]
    if judged:
        parts += ["## Which claims hold?", rule(), tell(judged), claims_table(judged), said(judged)]
    return join(parts)


def rule() -> str:
    return str(WORDS["rule"]).format(pairs=PAIRS, seeds=SEEDS)


def one_screen(pages: Sequence[Page], study: Study) -> str:
    """What each table and figure of the paper comes to here."""
    rows: dict[str, list[str]] = {}
    everything: dict[Any, OnPage] = {}  # a comparison that two pages make counts once
    for page in pages:
        judged = judge(page.name, study)
        everything |= {one.key: one for one in judged}
        counts = Counter(one.verdict for one in judged)
        rows[f"[{page.title}]({page.linked or f'{page.name}.md'})"] = [
            count_runs(page, study),
            ", ".join(f"{name} {tau}" for name, tau in taus_of(page, study).items()) or EMPTY,
            *(str(counts[verdict]) if judged else EMPTY for verdict in VERDICTS),
            str(sum(one.passes == "yes" for one in judged if one.verdict == CONFIRMED)) if judged else EMPTY,
        ]
    parts = [
        MADE,
        "# The paper in one screen",
        str(WORDS["first"]).format(stand_in=WORDS["stand_ins"]["resnet20"]),
        grid(
            "the paper's",
            ["runs", "rank agreement, Kendall's tau", *VERDICTS, "of the confirmed, the control passes"],
            rows,
        ),
        tell(list(everything.values())),
        rule(),
        "Four claims are about more than two cells, and get no verdict:",
        wider(study),
        *headline(study),
        "## What the paper leaves open",
        WORDS["last"],
    ]
    return join(parts)


def wider(study: Study) -> str:
    """What the paper claims of more than two cells, with our numbers beside it where there are any."""
    by_size = {f"M = {size}": guided_gap(study, "norm", size) for size in SIZES}
    by_setting = {}
    for words, (order, reset) in SETTINGS.items():
        fps, cstu = study.values([at("norm", name, 32, reset, order) for name in ("fps", "cstu")])
        by_setting[words] = None if fps is None or cstu is None else fps - cstu
    told = {"capacity": tell_gaps(by_size), "settings": tell_gaps(by_setting)}
    return "\n".join(f"- {text.format(gaps=told.get(name))}" for name, text in WORDS["wider"].items())


def tell_gaps(gaps: Mapping[str, float | None]) -> str:
    return ", ".join(f"{EMPTY if gap is None else f'{gap:+.1f}'} ({name})" for name, gap in gaps.items())


def headline(study: Study) -> list[str]:
    """Table 1 for the three methods that a memory can help."""
    shown = beside(tables()["table1"], study, ("norm", "rotta", "note"))
    return ["## Table 1, the methods that have running statistics", WORDS["legend"], shown] if shown else []


def is_plain(run: Run) -> bool:
    """Has it the usual pairing, statistics, rate and arguments, and no prior?"""
    spec = run.spec
    if run.prior != "none" or (spec.pairing, spec.regime.clock, spec.method.embedding) != ("paper", "none", "probs"):
        return False
    if set(run.own_of_memory) - {"epsilon"}:
        return False
    if spec.control == RUNNING:
        usual = getattr(methods.get(spec.method.name).paired, "rate", None)
        return usual is None or spec.method.rate == usual
    return bool(spec.control) or has_usual_statistics(spec)


def wanted_of(run: Run) -> Wanted:
    spec, (method, name) = run.spec, name_of(run)
    world = spec.data.name, spec.model.name
    if method == "source":
        return Wanted(world, method, NONE, None)
    capacity = None if name == NONE else spec.memory.capacity
    epsilon = run.own_of_memory.get("epsilon", EPSILON) if name in GUIDED else None
    return Wanted(world, method, name, capacity, spec.regime.reset, run.stream.gamma, run.stream.order, epsilon)


def ours_of(cell: Published, memory: str | None = None) -> Wanted:
    """What a printed cell is here; with `memory`, another row of its column."""
    name = memory or cell.memory
    return Wanted(
        WORLDS[cell.data, cell.backbone],
        cell.method,
        name,
        None if name == NONE or cell.method == "source" else cell.capacity,
        "never" if cell.method == "source" else cell.reset,
        cell.gamma,
        epsilon=EPSILON if name in GUIDED else None,
    )


def beside(table: PaperTable, study: Study, only: Sequence[str] = ()) -> str:
    """Ours and the printed number in each cell; below, rows that are ours alone, and the agreement of the ranking."""
    columns = [column_of(cells, study) for cells in table.columns().values() if not only or cells[0].method in only]
    columns = [column for column in columns if column.ours]
    names = dict.fromkeys(name for column in columns for name in (*column.printed, *column.ours))
    rows = {
        row_name(name): [column.show(name) for column in columns]
        for name in sorted(names, key=lambda name: (*MEMORIES, *OURS).index(name))
    }
    rows["tau"] = [str(column.tau) if column.tau.tau is not None else EMPTY for column in columns]
    rows["corruptions x seeds"] = [column.size for column in columns]
    shown = any(set(column.ours) - {NONE, *OURS} for column in columns)
    return grid("memory", [heading(column.cell, table) for column in columns], rows) if shown else ""


@dataclass(frozen=True)
class Shown:
    """One column: the printed numbers and ours, by memory or control."""

    cell: Published
    printed: Mapping[str, str]
    ours: Mapping[str, float]
    tau: Agreement
    domains: tuple[int, ...]
    seeds: int  # that all of its rows have

    @property
    def size(self) -> str:
        """Corruptions and seeds."""
        return f"{' and '.join(map(str, self.domains))} x {self.seeds}"

    def show(self, name: str) -> str:
        if self.cell.method == "source" and name != NONE:
            return ""
        mine = f"{self.ours[name]:.1f}" if name in self.ours else EMPTY
        memories = [value for memory, value in self.ours.items() if memory not in (NONE, *OURS)]
        if name in self.ours and name not in (NONE, *OURS) and self.ours[name] == max(memories) and len(memories) > 1:
            mine = f"**{mine}**"
        return f"{mine} ({self.printed[name]})" if name in self.printed else mine


def column_of(cells: Sequence[Published], study: Study) -> Shown:
    names = list(dict.fromkeys([*(cell.memory for cell in cells), NONE]))
    names += [] if cells[0].method == "source" else list(OURS)
    wanted = [ours_of(cells[0], name) for name in names]
    ours = {name: value for name, value in zip(names, study.values(wanted), strict=True) if value is not None}
    printed = {cell.memory: f"{cell.value:.{cell.decimals}f}" for cell in cells}
    domains = tuple(sorted({len(run.domains) for one in wanted for run in study.find(one)}))
    tau = agreement(ours, {cell.memory: cell.value for cell in cells})
    return Shown(cells[0], printed, ours, tau, domains, len(study.seeds(wanted)))


def row_name(name: str) -> str:
    return f"*{OURS[name]}*" if name in OURS else "none, steps of 64" if name == NONE else name


def heading(cell: Published, table: PaperTable) -> str:
    name = proper(cell.method)
    if table.name == "table2":
        return f"{name} M={cell.capacity}"
    return f"{name} {'ITD' if cell.data == 'itd' else f'gamma {cell.gamma:g}'}" if table.name == "table3" else name


def taus_of(page: Page, study: Study) -> dict[str, Agreement]:
    if page.table is None:
        return {}
    table = page.cells()
    found = {heading(cells[0], table): column_of(cells, study).tau for cells in table.columns().values()}
    return {name: tau for name, tau in found.items() if tau.tau is not None}


def judge(page: str, study: Study) -> list[OnPage]:
    """The claims of a page both of whose cells have runs, each once."""
    found: dict[Any, OnPage] = {}
    for claim in claims():
        backbone = claim.backbone or next(name for data, name in WORLDS if data == claim.data)
        setting = claim.capacity, claim.reset, claim.data, claim.gamma, backbone
        cell, other = (Published("", method, "", 0.0, 0, *setting) for method, _ in claim.sides)
        sides = [study.find(ours_of(cell, claim.above)), study.find(ours_of(other, claim.below))]
        if claim.page != page or not all(sides):
            continue
        without = NONE if backbone == "vit" else RUNNING  # a network without BatchNorm has no statistics to average
        same, control = (study.find(ours_of(cell, name)) for name in (SAME, without))
        if same:  # no memory in steps of M, where those are not 64
            sides = [
                same if name == NONE else side for name, side in zip((claim.above, claim.below), sides, strict=True)
            ]
        against = fair_difference(control, sides[1]) if control else None
        one = OnPage(claim, fair_difference(*sides), against)
        found[one.key] = one
    return list(found.values())


def claims_table(judged: Sequence[OnPage]) -> str:
    lines = ["| claim | method | paper | ours | verdict | the control passes too |", "|---|---|---:|---:|---|---|"]
    for one in judged:
        claim = one.claim
        gamma = f", gamma {claim.gamma:g}" if claim.gamma != 0.1 else ""
        reset = ", episodic" if claim.reset != "never" and claim.data == "cifar10-c" else ""
        name = f"{claim.words}, M={claim.capacity}{gamma}{reset}"
        printed = EMPTY if claim.printed is None else f"{claim.printed:+.2f}"
        cells = (name, proper(claim.method), printed, tell_gap(one.found, "steps differ"), one.verdict, one.passes)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def said(judged: Sequence[Judged]) -> str:
    told = dict.fromkeys(f"{one.claim.where}: {one.claim.says}" for one in judged)
    return "The paper says:\n\n" + "\n".join(f"- {sentence}." for sentence in told)


def tell(judged: Sequence[OnPage]) -> str:
    """How many claims came to which end, and how many the control passes."""
    if not judged:
        return "No claim has runs on both sides yet."
    confirmed = [one for one in judged if one.verdict == CONFIRMED]
    both = sum(one.passes == "yes" for one in confirmed)
    against = sum(one.claim.printed is not None and one.claim.printed < -one.claim.within for one in confirmed)
    text = f"**{tell_number(len(judged), 'comparison')}: {told_verdicts(judged)}.**"
    text += (
        f" The control without a memory passes {both or 'none'} of the {len(confirmed)} confirmed." if confirmed else ""
    )
    return text + (f" {against} of the confirmed contradict the paper's own printed numbers." if against else "")


def tell_source(page: Page, study: Study) -> str:
    world = next(world for world in WORLDS.values() if world[1] == page.world)
    level = mean(study.find(Wanted(world, "source", NONE, None)))
    return "" if level is None else f" Without adaptation it reaches {level:.1f} %."


def count_runs(page: Page, study: Study) -> str:
    planned = page.planned
    return f"{sum(spec.id in study.ids for spec in planned)} of {len(planned)}" if planned else EMPTY


def tell_runs(page: Page, study: Study) -> str:
    """Which cells of the page's recipe have runs, method by method."""
    cells: dict[str, dict[str, list[bool]]] = {}  # by method, for each cell whether its seeds were run
    for spec in page.planned:
        cell = spec.model_copy(update={"seed": 0}).id
        cells.setdefault(spec.method.name, {}).setdefault(cell, []).append(spec.id in study.ids)
    told, missing = [], []
    for method, found in cells.items():
        seeds = sorted({sum(runs) for runs in found.values() if any(runs)})
        name, count = proper(method), sum(any(runs) for runs in found.values())
        if not seeds:
            missing.append(name)
            continue
        words = tell_number(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
        told.append(f"{name} {count} of {tell_number(len(found), 'cell')} ({words})")
    text = f"What was run: {', '.join(told)}." + (f" Not run: {', '.join(missing)}." if missing else "")
    return text + (f" {WORDS['reduced']}" if {"cotta", "energy"} & cells.keys() and "CoTTA" not in missing else "")


def fill_capacity(study: Study) -> list[str]:
    """Accuracy by M for each method."""
    parts = []
    for method in ("norm", "note", "rotta"):
        columns = {f"M = {size}": [at(method, name, size) for name in BY_SIZE] for size in SIZES}
        parts += [f"## {proper(method)}", text] if (text := by_column(study, BY_SIZE, columns)) else []
        gaps = {size: gap for size in SIZES if text and (gap := guided_gap(study, method, size)) is not None}
        told = ", ".join(f"{gap:+.1f} at M = {size}" for size, gap in gaps.items())
        parts += [f"{WORDS['gap']}: {told}."] if told else []
    return parts


def guided_gap(study: Study, method: str, size: int) -> float | None:
    """The best guided memory less the best classical one, where all were run."""
    sides = [study.values([at(method, name, size) for name in names]) for names in (("cds", "fps"), CLASSICAL)]
    known = [[value for value in side if value is not None] for side in sides]
    return max(known[0]) - max(known[1]) if known == sides else None


def fill_epsilon(study: Study) -> list[str]:
    """Accuracy by epsilon, for each method, reset and M; and what the default is worth."""
    parts = []
    for method, reset, size in product(("norm", "rotta"), ("never", "each_domain"), (32, 64)):
        rows = {}
        for memory in GUIDED:
            cells = [Wanted(CIFAR, method, memory, size, reset, epsilon=value) for value in EPSILONS]
            low, usual, high = (study.find(cell) for cell in cells)
            if low or high:
                gaps = [tell_gap(difference(usual, other)) if usual and other else EMPTY for other in (low, high)]
                rows[memory] = [*map(shown, study.values(cells)), *gaps]
        if rows:
            others = [at(method, name, size, reset) for name in ("pbrs", "cstu", RUNNING)]
            told = [
                f"{row_name(one.memory)} {value:.1f}" for one in others if (value := mean(study.find(one))) is not None
            ]
            told += [
                f"the paper prints {cell.memory} {cell.value:.1f} at {cell.epsilon or 'an epsilon not stated'}"
                for cell in text_numbers()
                if (cell.method, cell.capacity, cell.reset, cell.data) == (method, size, reset, "cifar10-c")
                and "epsilon" in cell.where
            ]
            columns = [*(f"epsilon {value:g}" for value in EPSILONS), "0.005 less 0.001", "0.005 less 0.01"]
            parts.append(f"## {proper(method)}, {'continual' if reset == 'never' else 'episodic'}, M = {size}")
            parts += [grid("memory", columns, rows), *([f"Beside them: {'; '.join(told)}."] if told else [])]
    return parts


def fill_settings(study: Study) -> list[str]:
    """Accuracy in each of the four settings."""
    parts = []
    for method in ("norm", "tent", "rotta"):
        columns = {
            words: [at(method, name, 32, reset, order) for name in IN_SETTINGS]
            for words, (order, reset) in SETTINGS.items()
        }
        parts += [f"## {proper(method)}", text] if (text := by_column(study, IN_SETTINGS, columns)) else []
    return parts


def at(method: str, name: str, size: int, reset: str = "never", order: str = "dirichlet") -> Wanted:
    """A cell of CIFAR-10-C by memory or control and M."""
    epsilon = EPSILON if name in GUIDED else None
    return Wanted(CIFAR, method, name, None if name == NONE else size, reset, 0.1, order, epsilon)


def by_column(study: Study, names: Sequence[str], columns: Mapping[str, Sequence[Wanted]]) -> str:
    """A table of accuracies over the same seeds everywhere; nothing without a memory."""
    memories = [name not in (NONE, *OURS) for name in names]
    kept = {
        name: cells
        for name, cells in columns.items()
        if any(study.find(cell) for cell, memory in zip(cells, memories, strict=True) if memory)
    }
    everything = [cell for cells in kept.values() for cell in cells]
    values = dict(zip(everything, study.values(everything), strict=True))
    rows = {row_name(names[k]): [shown(values[cells[k]]) for cells in kept.values()] for k in range(len(names))}
    rows = {name: row for name, row in rows.items() if set(row) != {EMPTY}}
    seeds = ", ".join(map(str, sorted(study.seeds(everything))))
    sizes = " and ".join(map(str, sorted({len(run.domains) for cell in everything for run in study.find(cell)})))
    told = f"Over {sizes} corruptions and the seeds that all of these cells have: {seeds}." if seeds else ""
    return f"{grid('memory', list(kept), rows)}\n\n{told}" if kept else ""


def shown(value: float | None) -> str:
    return EMPTY if value is None else f"{value:.1f}"


CIFAR = WORLDS["cifar10-c", "wrn-28-10"]
SIZES, EPSILONS = (8, 16, 32, 64), (0.001, EPSILON, 0.01)
CLASSICAL = ("fifo", "reservoir", "pbrs", "cstu")
BY_SIZE = (*MEMORIES, RUNNING, SAME)
SETTINGS = {
    "i.i.d., reset": ("iid", "each_domain"),
    "continual: i.i.d., never reset": ("iid", "never"),
    "non-i.i.d.: Dirichlet, reset": ("dirichlet", "each_domain"),
    "practical: Dirichlet, never reset": ("dirichlet", "never"),
}
IN_SETTINGS = (NONE, "fifo", "cstu", "fps", RUNNING)
FIGURES: dict[str, Callable[[Study], list[str]]] = {
    "capacity": fill_capacity,
    "epsilon": fill_epsilon,
    "settings": fill_settings,
}
