"""Recipes: a table or figure as a small YAML file, and the runs it stands for."""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from gotta.errors import GottaError, unknown
from gotta.experiment.spec import RunSpec
from gotta.memory import policies

FOLDER = Path(__file__).parents[1] / "recipes"


class Cells(BaseModel):
    """A block of a table: every method with every memory (wildcards allowed) or control."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    method: list[str]
    memory: list[str] = []
    control: list[str] = []
    settings: dict[str, Any] = {}


class Recipe(BaseModel):
    """`base` is what all runs share; `quick` replaces parts of it for a first look."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    title: str
    base: dict[str, Any]
    seeds: list[int]
    cells: list[Cells]
    leave_out: list[str] = []  # memories that wildcards pass over
    quick: dict[str, Any] = {}

    def runs(
        self, quick: bool = False, memories: Sequence[str] = (), seeds: Sequence[int] = (), **changes: Any
    ) -> list[RunSpec]:
        """The specs of all runs, each once, seeds last so that the first seed's table is there early.

        `memories` replaces the memories that the recipe names by wildcard; `changes` are sections merged over the base.
        """
        base = merged(self.base, self.quick.get("base", {}) if quick else {})
        base = merged(base, changes)
        chosen = list(seeds) or (self.quick.get("seeds", self.seeds) if quick else self.seeds)
        specs: dict[str, RunSpec] = {}
        for seed in chosen:
            for cells in self.cells:
                for cell in self._cells(cells, memories):
                    spec = RunSpec.of(merged(merged(base, cells.settings), {**cell, "seed": seed}))
                    specs[spec.id] = spec
        return list(specs.values())

    def _cells(self, cells: Cells, memories: Sequence[str]) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = [{"memory": {"name": name}} for name in self._memories(cells.memory, memories)]
        rows += [{"control": name} for name in cells.control]
        return [{"method": {"name": method}, **row} for method, row in product(cells.method, rows or [{}])]

    def _memories(self, patterns: Sequence[str], instead: Sequence[str]) -> list[str]:
        found: list[str] = []
        for pattern in patterns:
            if "*" not in pattern:
                found.append(pattern)
            elif instead:
                found += [name for pattern in instead for name in policies.match(pattern)]
            else:
                found += [name for name in policies.match(pattern) if name not in self.leave_out]
        return list(dict.fromkeys(found))


def recipes() -> list[str]:
    """The names of the recipes that come with gotta."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_recipe(name_or_path: str) -> Recipe:
    """A recipe by its name, or from a YAML file of one's own."""
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        path = FOLDER / f"{name_or_path}.yaml"
        if not path.exists():
            raise unknown("recipe", name_or_path, recipes())
    try:
        return Recipe.model_validate(yaml.safe_load(path.read_text()))
    except OSError as error:
        raise GottaError(f"no recipe at {path}: {error.strerror}. Known by name: {', '.join(recipes())}.") from None
    except yaml.YAMLError as error:
        raise GottaError(f"{path} is not YAML: {error}") from None
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg'].lower()}" for e in error.errors())
        raise GottaError(f"{path} is no recipe: {problems}.") from None


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the values of `over`, section by section."""
    result = dict(base)
    for key, value in over.items():
        below = result.get(key)
        result[key] = merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    return result
