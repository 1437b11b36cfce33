"""Where the cells of a sweep are run. An engine takes cells and tells what happens to them."""

from collections.abc import Sequence
from typing import Any, Protocol

from gotta.errors import unknown
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Listener, Work

ENGINES = ("local", "ray", "slurm")


class Engine(Protocol):
    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        """Run cells until each has had its last event: finished, failed, or taken by another sweep."""


def engine(name: str, jobs: int, **options: Any) -> Engine:
    """An engine by its name; `jobs` cells run at a time at most, 0 = as many as fit."""
    if name == "ray":
        from gotta.experiment.sweep.engines.ray import Ray

        return Ray(jobs, **options)
    if name == "slurm":
        from gotta.experiment.sweep.engines.slurm import Slurm

        return Slurm(jobs, **options)
    if name == "local":
        from gotta.experiment.sweep.engines.local import Local

        return Local(jobs)
    raise unknown("engine", name, ENGINES)
