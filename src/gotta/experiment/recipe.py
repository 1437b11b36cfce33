"""Recipes: a table or figure as a small YAML file, and the runs it stands for. How to write one: docs/recipes.md."""

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gotta.errors import GottaError, unknown
from gotta.experiment.arguments import known_arguments
from gotta.experiment.spec import DEFAULTS, FIELDS, Mistakes, RunSpec, short, together
from gotta.experiment.text import merged, nested, read
from gotta.memory import policies

FOLDER = Path(__file__).parents[1] / "recipes"
PICTURES = ("teaser",)  # drawn by code of their own, whose settings their file holds
SHOWN = 4  # cells that a mistake names before it only counts them

Sections = dict[str, Any]
Axes = dict[str, Annotated[list[Any], Field(min_length=1)]]  # a setting's dotted name and its values
Seeds = Annotated[list[int], Field(min_length=1)]
Names = Annotated[list[str], Field(min_length=1)]


class Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Cells(Part):
    """A block of a table: each method with each memory (wildcards allowed) or control, for each value of its axes."""

    method: Names
    memory: list[str] = []
    control: list[str] = []
    settings: Sections = {}
    axes: Axes = {}


class Quick(Part):
    """What a first look replaces: parts of the base, the seeds, the values of axes by name."""

    base: Sections = {}
    seeds: Seeds = [0]
    axes: Axes = {}


class Recipe(Part):
    """`base` is what all runs share, `axes` what cells are repeated for; `quick` replaces parts for a first look."""

    title: str
    paper: str | None = None  # the published table or figure it stands beside
    note: str | None = None  # what a reader of its numbers should know
    base: Sections
    seeds: Seeds = [0, 1, 2]
    axes: Axes = {}
    cells: Annotated[list[Cells], Field(min_length=1)]
    leave_out: list[str] = []  # memories that wildcards pass over
    quick: Quick = Quick()

    def runs(
        self,
        quick: bool = False,
        memories: Sequence[str] = (),
        seeds: Sequence[int] = (),
        methods: Sequence[str] = (),
        over: Mapping[str, Any] | None = None,
        **sections: Any,
    ) -> list[RunSpec]:
        """The specs of all runs, each once, seeds last so that the first seed's table is there early.

        `memories` replaces the memories that the recipe names by wildcard, or all but `none` if it names none so;
        `methods` keeps these only; `over` and `sections` stand over everything the recipe says. An argument of a method
        or memory among them goes to the cells whose method or memory takes it.
        """
        cells = self.sections(quick, memories, methods)
        over = merged(short(over or {}), short(sections))
        if unfit := _fits_nowhere(over, cells):
            raise GottaError(together(unfit, "the settings"))
        given = [merged(cell, _fitting(over, cell)) for cell in cells]
        chosen = [over["seed"]] if "seed" in over else list(seeds) or (self.quick.seeds if quick else self.seeds)
        specs = [spec for seed in chosen for spec in _specs(given, seed)]
        return list({spec.id: spec for spec in specs}.values())

    def sections(
        self, quick: bool = False, memories: Sequence[str] = (), methods: Sequence[str] = ()
    ) -> list[Sections]:
        """What each cell says, before anything left open is decided."""
        named = [name for block in self.cells for name in block.method]
        for name in methods:
            if name not in named:
                raise unknown("method of the recipe", name, dict.fromkeys(named))
        base = merged(short(self.base), short(self.quick.base)) if quick else short(self.base)
        return [
            reduce(merged, parts, base)
            for block in self.cells
            for parts in product(
                self._names(block, memories, methods), [short(block.settings)], *self._axes(block, quick)
            )
        ]

    def _axes(self, block: Cells, quick: bool) -> Iterator[list[Sections]]:
        axes = {**self.axes, **block.axes}
        for name, values in axes.items():
            chosen = self.quick.axes.get(name, values) if quick else values
            yield [short(nested(name, value)) for value in chosen]

    def _names(self, block: Cells, memories: Sequence[str], methods: Sequence[str]) -> list[Sections]:
        rows: list[Sections] = [{"memory": {"name": name}} for name in self._memories(block.memory, memories)]
        rows += [{"control": name} for name in block.control]
        chosen = [name for name in block.method if not methods or name in methods]
        return [{"method": {"name": method}, **row} for method, row in product(chosen, rows or [{}])]

    def _memories(self, patterns: Sequence[str], instead: Sequence[str]) -> list[str]:
        wild = any("*" in pattern for block in self.cells for pattern in block.memory)
        found: list[str] = []
        for pattern in patterns:
            if instead and ("*" in pattern if wild else pattern != "none"):
                found += [name for pattern in instead for name in policies.match(pattern)]
            elif "*" in pattern:
                found += [name for name in policies.match(pattern) if name not in self.leave_out]
            else:
                found.append(pattern)
        return list(dict.fromkeys(found))


class Picture(Part):
    """A figure that is no table of runs."""

    title: str
    paper: str
    note: str
    setting: Sections
    quick: Sections


def recipes() -> list[str]:
    """The names of the recipes that come with gotta and stand for runs."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml") if path.stem not in PICTURES)


def load_picture(name: str) -> Picture:
    """The settings of a figure that is no table of runs."""
    return Picture.model_validate(read(FOLDER / f"{name}.yaml"))


def load_recipe(name_or_path: str) -> Recipe:
    """A recipe by its name, or from a YAML file of one's own."""
    path = Path(name_or_path)
    if name_or_path in PICTURES:
        raise GottaError(f"'{name_or_path}' is a picture and stands for no runs. Draw it: gotta bench {name_or_path}")
    if path.suffix not in (".yaml", ".yml"):
        path = FOLDER / f"{name_or_path}.yaml"
        if not path.exists():
            raise unknown("recipe", name_or_path, recipes())
    elif not path.exists():
        raise GottaError(f"no recipe at {path}. Known by name: {', '.join(recipes())}.")
    try:
        return Recipe.model_validate(read(path))
    except ValidationError as error:
        found = together([_describe(problem) for problem in error.errors()], "it")
        raise GottaError(f"{path} is no recipe: {found}") from None


def _specs(cells: Sequence[Sections], seed: int) -> list[RunSpec]:
    """All cells with this seed; or all their mistakes, each with the cells it is in."""
    specs: list[RunSpec] = []
    wrong: dict[str, list[str]] = {}
    for cell in cells:
        try:
            specs.append(RunSpec.of({**cell, "seed": seed}))
        except Mistakes as error:
            for mistake in error.mistakes:
                wrong.setdefault(mistake, []).append(_label(cell))
    if wrong:
        raise GottaError(together([f"{text} ({_where(at, len(cells))})" for text, at in wrong.items()], "the recipe"))
    return specs


def _where(labels: Sequence[str], total: int) -> str:
    if len(labels) == total:
        return "in every cell"
    named = ", ".join(dict.fromkeys(labels[:SHOWN]))
    return f"in {named}" + (f" and {len(labels) - SHOWN} more cells" if len(labels) > SHOWN else "")


def _label(cell: Sections) -> str:
    return f"{cell['method'].get('name')} + {cell.get('control') or cell.get('memory', {}).get('name', 'none')}"


def _arguments(over: Sections) -> list[tuple[str, str]]:
    """The settings of method and memory that are arguments of whichever is chosen."""
    sections = [(section, over.get(section)) for section in FIELDS]
    return [
        (section, name)
        for section, content in sections
        if isinstance(content, Mapping)
        for name in content
        if name not in FIELDS[section]
    ]


def _taken(section: str, cell: Sections) -> list[str] | None:
    return known_arguments(section, cell.get(section, {}).get("name", DEFAULTS[section]))


def _fitting(over: Sections, cell: Sections) -> Sections:
    """`over` without the arguments that this cell's method or memory does not take."""
    result = dict(over)
    for section, name in _arguments(over):
        known = _taken(section, merged(cell, over))
        if (cell.get("control") and section == "memory") or (known is not None and name not in known):
            result[section] = {key: value for key, value in result[section].items() if key != name}
    return result


def _fits_nowhere(over: Sections, cells: Sequence[Sections]) -> list[str]:
    """A complaint for each argument that no cell takes."""
    found = []
    for section, name in _arguments(over):
        taken = [_taken(section, merged(cell, over)) for cell in cells]
        known = {argument for some in taken for argument in some or ()} | set(FIELDS[section])
        if None not in taken and name not in known:
            found.append(str(unknown("setting", f"{section}.{name}", [f"{section}.{other}" for other in known])))
    return found


def _describe(problem: Any) -> str:
    """One of pydantic's findings in our words."""
    *path, last = [str(part) for part in problem["loc"]] or [""]
    where = ".".join([*path, last])
    if problem["type"] == "extra_forbidden":
        part = Cells if path[:1] == ["cells"] else Quick if path == ["quick"] else Recipe
        return str(unknown("key", where, [".".join([*path, name]) for name in part.model_fields]))
    if problem["type"] == "missing":
        return f"{where} is missing."
    message = f"{problem['msg'][0].lower()}{problem['msg'][1:]}"
    return f"{where}: {message}; got {problem['input']!r}." if where else f"{message}."
