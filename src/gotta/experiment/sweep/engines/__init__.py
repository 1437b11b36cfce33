"""Where the cells of a sweep are run. An engine takes cells and tells what happens to them."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from gotta.errors import GottaError, unknown
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Listener, Work

ENGINES = {
    "local": ("gpus",),
    "ray": ("address", "gpus", "resources"),
    "slurm": ("gpus", "pack", "options"),
}  # names, and what each is told


class Engine(Protocol):
    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        """Run cells until each has had its last event: finished, failed, or taken by another sweep."""


def engine(name: str, jobs: int, **options: Any) -> Engine:
    """An engine by its name; `jobs` cells run at a time at most, 0 = as many as fit. Each takes options of its own."""
    if name not in ENGINES:
        raise unknown("engine", name, ENGINES)
    for option in options:
        if option not in ENGINES[name]:
            takes = [other for other, known in ENGINES.items() if option in known]
            raise GottaError(f"'{option}' is for engine {' or '.join(takes)}, not for {name}.")
    module = import_module(f"{__name__}.{name}")  # only this one: the others need more than gotta does
    made: Engine = getattr(module, name.capitalize())(jobs, **options)
    return made
