"""Where the cells of a sweep are run. An engine takes cells and tells what happens to them."""

from collections.abc import Sequence
from importlib import import_module
from inspect import signature
from typing import Any, Protocol

from gotta.errors import GottaError, check_known
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Listener, Work

OWNER = {"address": "ray", "resources": "ray", "pack": "slurm", "options": "slurm"}  # of what one engine alone takes


class Engine(Protocol):
    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        """Run cells until each has had its last event: finished, failed, or taken by another sweep."""


def engine(name: str, jobs: int, **options: Any) -> Engine:
    """An engine by its name; `jobs` cells run at a time at most, 0 = as many as fit. Each takes options of its own."""
    check_known("engine", name, ("local", "ray", "slurm"))
    module = import_module(f"{__name__}.{name}")  # only this one: the others need more than gotta does
    kind = getattr(module, name.capitalize())
    known = [option for option in signature(kind).parameters if option != "jobs"]
    for option in options:
        if option not in known:
            raise GottaError(f"'{option}' is for engine {OWNER.get(option, 'local or ray')}, not for {name}.")
    made: Engine = kind(jobs, **options)
    return made
