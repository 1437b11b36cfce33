"""Recipes: a table or figure as a small YAML file, and the runs it stands for. How to write one: docs/recipes.md."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gotta.errors import GottaError, check_known, messages
from gotta.experiment.recipe.exchange import Sections, exchange_memories, exchange_methods, fits_nowhere, fitting
from gotta.experiment.recipe.protocol import load_protocol
from gotta.experiment.spec.best_rates import place_of, settle_rate
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.spec_errors import SpecErrors, describe, inside, together, without
from gotta.experiment.spec.text import merged, nest, read
from gotta.experiment.spec.user_parts import permit
from gotta.memory import policies
from gotta.methods import methods as registered_methods
from gotta.safe_text import one_line, tell_few

FOLDER = Path(__file__).parents[2] / "recipes"
MOST = 1_000_000  # runs of a recipe, counted generously
SEEDS = "first seeds"  # of a cell that is run with the first so many only
SHOWN = 4  # cells that a mistake names before it only counts them

Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]  # a setting's dotted name and its values
Seeds = Annotated[list[int], Field(min_length=1), AfterValidator(lambda seeds: _each_once(seeds))]
Names = Annotated[list[str], Field(min_length=1)]


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cells(Frozen):
    """A block of a table: each method with each memory (wildcards allowed) or control, for each value of its axes."""

    method: Names
    memory: list[str] = []
    control: list[str] = []
    settings: Sections = {}
    axes: Axes = {}
    seeds: Annotated[int, Field(ge=1)] | None = None  # only the first so many, unless the caller names seeds


class Variant(Frozen):
    """A shorter form of a recipe: what it replaces of the base, the seeds, the values of axes by name, the cells."""

    base: Sections = {}
    seeds: Seeds | None = None  # the recipe's own if left open
    axes: Axes = {}
    cells: Annotated[list[Cells], Field(min_length=1)] | None = None  # the recipe's own if left open


class Quick(Variant):
    """For a first look."""

    seeds: Seeds | None = [0]


class Study(Variant):
    """The paper's length on fewer corruptions: all 10,000 images, one corruption of each family, a small network."""

    base: Sections = {
        "data": {"name": "cifar10_c"},
        "model": {"name": "resnet20"},
        "stream": {
            "domains": ["gaussian_noise", "defocus_blur", "snow", "contrast", "pixelate"],
            "per_class": None,
            "limit": None,
        },
    }


class Recipe(Frozen):
    """`base` is what all runs share, `axes` what cells are repeated for; `quick` and `study` are variants."""

    title: Annotated[str, AfterValidator(one_line)]
    paper: str | None = None  # the published table or figure it stands beside
    note: str | None = None  # what a reader of its numbers should know
    protocol: str | None = None  # whose settings stand under those of the base (gotta ls protocols)
    base: Sections
    seeds: Seeds = [0, 1, 2]
    axes: Axes = {}
    cells: Annotated[list[Cells], Field(min_length=1)]
    leave_out: list[str] = []  # memories that wildcards pass over
    imports: list[str] = []  # modules of one's own whose classes it names
    quick: Quick = Quick()
    study: Study = Study()

    def record(self, name: str) -> dict[str, Any]:
        """What is kept with each of its runs."""
        return {"name": name, **self.model_dump(mode="json", exclude_defaults=True)}

    def runs(
        self,
        variant: str = "",
        memories: Sequence[str] = (),
        seeds: Sequence[int] = (),
        methods: Sequence[str] = (),
        over: Mapping[str, Any] | None = None,
        **sections: Any,
    ) -> list[RunSpec]:
        """The specs of all runs, each once, seeds last so that the first seed's table is there early.

        `variant` is "quick" or "study" for that form of the recipe.
        `memories` takes the place of every memory of the recipe but `none`; of `methods` those that the recipe has are
        kept, alone, and others take the place of its methods. `over` and `sections` stand over everything the recipe
        says. An argument of a method or memory among them goes to the cells whose method or memory takes it. Cells at
        a best rate that nobody has measured are left out (`without_rate` names them).
        """
        usual = self._variant(variant).seeds or self.seeds
        self._check_count(len(seeds) or len(usual))
        over = merged(over or {}, sections)
        permit(over)  # what the caller names may be imported when it is run
        for section, names in (("memory", memories), ("method", methods)):
            for name in names:
                permit({section: {"name": name}})
        chosen = [over["seed"]] if "seed" in over else list(seeds) or usual
        cells = self.sections(variant, memories, methods)
        given = [merged(cell, fitting(over, cell)) for cell in cells]
        given = [cell for cell in given if not settle_rate(cell)[1]] or given  # if none is left, that is a mistake
        wrong = fits_nowhere(over, cells) + self._loose_ends() + messages([lambda: _each_once(chosen)])
        specs: list[RunSpec] = []
        try:
            for number, seed in enumerate(chosen):  # those that were asked for are run of every cell
                now = [cell for cell in given if seeds or number < cell.get(SEEDS, number + 1)]
                specs += _specs(now, seed, self.imports)
        except SpecErrors as error:
            wrong += error.mistakes
        if wrong:
            raise SpecErrors(wrong, "the recipe and its settings")
        return list({spec.id: spec for spec in specs}.values())

    def without_rate(
        self, variant: str, memories: Sequence[str], methods: Sequence[str], over: Mapping[str, Any]
    ) -> list[str]:
        """The cells that `runs` leaves out: they ask for a best rate, and nobody has measured it."""
        cells = self.sections(variant, memories, methods)
        given = [merged(cell, fitting(dict(over), cell)) for cell in cells]
        return list(dict.fromkeys(" + ".join(place_of(cell)) for cell in given if settle_rate(cell)[1]))

    def sections(self, variant: str = "", memories: Sequence[str] = (), methods: Sequence[str] = ()) -> list[Sections]:
        """What each cell says, before anything left open is decided."""
        base = self.base if self.protocol is None else load_protocol(self.protocol).base(self.base)
        base = merged(base, self._variant(variant).base)
        cells = [
            reduce(merged, parts, base) | ({SEEDS: block.seeds} if block.seeds else {})
            for block in self._variant(variant).cells or self.cells
            for parts in product(self._names(block), [block.settings], *self._axes(block, variant))
        ]
        if memories:
            cells = exchange_memories(cells, self._match(memories))
        if methods:
            cells = exchange_methods(cells, registered_methods.match(",".join(methods)))
        return cells

    def _variant(self, name: str) -> Variant:
        variants: dict[str, Variant] = {"": Variant(), "quick": self.quick, "study": self.study}
        check_known("variant of a recipe", name, variants)
        return variants[name]

    def _check_count(self, seeds: int) -> None:
        """Before they are made: a few short axes can stand for more cells than anybody can run."""
        cells = 0
        for block in self.cells:
            known = len(policies.names()) if any("*" in pattern for pattern in block.memory) else 1
            rows = len(block.method) * (known * len(block.memory) + len(block.control) + 1)
            cells += rows * prod(len(values) for values in {**self.axes, **block.axes}.values())
        if cells * seeds > MOST:
            raise GottaError(f"the recipe stands for up to {cells * seeds:,} runs. Expected at most {MOST:,}.")

    def _loose_ends(self) -> list[str]:
        """A complaint for each name that refers to nothing."""
        axes = {*self.axes, *(name for block in self.cells for name in block.axes)}
        named = [("quick", name) for name in self.quick.axes] + [("study", name) for name in self.study.axes]
        looks = [partial(check_known, f"axis in {variant}.axes,", name, axes) for variant, name in named]
        looks += [partial(check_known, "memory in leave_out,", name, policies.names()) for name in self.leave_out]
        return messages(looks)

    def _axes(self, block: Cells, variant: str) -> Iterator[list[Sections]]:
        axes = {**self.axes, **block.axes}
        for name, values in axes.items():
            chosen = self._variant(variant).axes.get(name, values)
            yield [nest(name, value) for value in chosen]

    def _names(self, block: Cells) -> list[Sections]:
        rows: list[Sections] = [{"memory": {"name": name}} for name in self._match(block.memory)]
        rows += [{"control": name} for name in block.control]
        return [{"method": {"name": method}, **row} for method, row in product(block.method, rows or [{}])]

    def _match(self, patterns: Sequence[str]) -> list[str]:
        """Memories by name, and by wildcards, which pass over some."""
        found: list[str] = []
        for pattern in patterns:
            wild = "*" in pattern
            found += [name for name in policies.match(pattern) if name not in self.leave_out] if wild else [pattern]
        return list(dict.fromkeys(found))


def recipes() -> list[str]:
    """The names of the recipes that come with gotta."""
    return sorted(path.stem for path in FOLDER.rglob("*.yaml"))


def load_recipe(name_or_path: str | Path) -> Recipe:
    """A recipe by its name, or from a YAML file of one's own."""
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        ours = {known.stem: known for known in FOLDER.rglob("*.yaml")}
        check_known("recipe", str(name_or_path), ours)
        path = ours[str(name_or_path)]
    elif not path.exists():
        raise GottaError(f"no recipe at {path}. Known by name: {', '.join(recipes())}.")
    return read_recipe(read(path), str(path))


def read_recipe(content: Any, where: str) -> Recipe:
    """A recipe from what its file says; `where` names it in an error."""
    if not isinstance(content, Mapping):
        got = "nothing" if content is None else f"a {type(content).__name__}"
        raise GottaError(f"{where} is not a recipe: expected title, base and cells by name, got {got}.")
    try:
        return Recipe.model_validate(content)
    except ValidationError as error:
        found = [describe(problem, Recipe, "key") for problem in error.errors()] + _further(content, error.errors())
        raise GottaError(f"{where} is not a recipe: {together(found, 'it')}") from None


def _specs(cells: Sequence[Sections], seed: int, imports: Sequence[str]) -> list[RunSpec]:
    """All cells with this seed; or all their mistakes, each with the cells it is in."""
    specs: list[RunSpec] = []
    wrong: dict[str, list[str]] = {}
    for cell in cells:
        try:
            settings = {name: value for name, value in cell.items() if name != SEEDS}
            specs.append(RunSpec.of({**settings, "seed": seed}, imports))
        except SpecErrors as error:
            for mistake in error.mistakes:
                wrong.setdefault(mistake, []).append(" + ".join(place_of(cell)))
    if wrong:
        raise SpecErrors([f"{text} ({_where(at, len(cells))})" for text, at in wrong.items()])
    return specs


def _each_once(seeds: Sequence[int]) -> Sequence[int]:
    twice = [str(seed) for seed in dict.fromkeys(seeds) if seeds.count(seed) > 1]
    if twice:
        raise GottaError(f"seed {', '.join(twice)} stands twice. Expected each seed once.")
    return seeds


def _further(content: Mapping[str, Any], problems: Sequence[Any]) -> list[str]:
    """What is wrong with the cells of a file that has other mistakes, so that nobody has to come back for it."""
    rest = without(
        content, [problem["loc"][:1] if problem["loc"][0] == "seeds" else problem["loc"] for problem in problems]
    )
    for problem in problems:  # what stands alone where a list belongs is looked at as its one entry
        *path, last = problem["loc"]
        section = inside(rest, path)
        if problem["type"] == "list_type" and problem["input"] is not None and isinstance(section, dict):
            section[last] = [problem["input"]]
    if any(problem["type"] == "too_short" and "axes" in problem["loc"] for problem in problems):
        return []  # without its values the cells would lack what the axis gives them
    try:
        Recipe.model_validate({"title": "", "base": {}, **rest}).runs()
    except SpecErrors as error:
        return error.mistakes
    except (ValidationError, GottaError):  # too little is left to tell
        return []
    return []


def _where(labels: Sequence[str], total: int) -> str:
    return "in every cell" if len(labels) == total else f"in {tell_few(list(dict.fromkeys(labels)), SHOWN)}"
