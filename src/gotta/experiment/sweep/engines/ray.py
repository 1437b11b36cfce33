"""Cells on many machines with Ray. The driver claims and stores; tasks compute, and keep snapshots where they can."""

import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import Any

import torch

from gotta.data.home import VARIABLE
from gotta.errors import GottaError
from gotta.experiment.run.run import place, share_dataset
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import DataSpec
from gotta.experiment.sweep.cell import (
    Computed,
    Event,
    LeaseLost,
    Listener,
    Work,
    claim,
    compute,
    failure,
    keep,
    read_costs,
    receive,
)
from gotta.experiment.sweep.leases import Lease

ATTEMPTS = 5  # how often a cell may lose its worker or node
# Nothing is sent to Ray's makers, and a busy machine gets longer than half a minute to start.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "180"}
PAUSE = 0.5  # seconds between two looks at what has happened


@dataclass(frozen=True)
class Ray:
    """Up to `jobs` tasks at a time (0: as many as fit), each with `work.threads` cores and a share of a GPU.

    Without `address` Ray is started on this machine; "auto" or "host:port" joins a cluster.
    """

    jobs: int = 0
    address: str | None = None
    gpus: float = 0.0

    def __post_init__(self) -> None:
        _ray()

    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        ray = _ray()
        joined = not ray.is_initialized()
        if joined:
            self._join(ray, work)
        try:
            _Driver(ray, self, work, listen).run(specs)
        finally:
            if joined:
                ray.shutdown()

    def _join(self, ray: Any, work: Work) -> None:
        # Ray sets the threads of a task by itself unless told; the path leads to policies and methods of one's own.
        variables = {"OMP_NUM_THREADS": str(work.threads), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        variables |= {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
        given = {} if self.address else {"include_dashboard": False}
        try:
            ray.init(
                address=self.address or "local",
                runtime_env={"env_vars": variables},
                log_to_driver=False,
                logging_level="error",
                **given,
            )
        except Exception as error:  # Ray raises anything here, Exception itself among it
            what = f"no Ray cluster at '{self.address}'" if self.address else "Ray does not start here"
            raise GottaError(f"{what}: {(str(error).splitlines() or [type(error).__name__])[0]}") from error


class _Board:
    """Where tasks leave word of their progress. Lives beside the driver."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, event: Event) -> None:
        self.events.append(event)

    def take(self) -> list[Event]:
        taken, self.events = self.events, []
        return taken


class _Driver:
    def __init__(self, ray: Any, engine: Ray, work: Work, listen: Listener) -> None:
        self.ray, self.engine, self.work, self.listen = ray, engine, work, listen
        self.running: dict[Any, tuple[RunSpec, Lease]] = {}
        self.lost: Counter[str] = Counter()
        self.sign = work.leases().folder / f".driver-{token_hex(8)}"  # who sees it shares this store
        here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            ray.get_runtime_context().get_node_id(), soft=True
        )
        self.board = ray.remote(num_cpus=0, scheduling_strategy=here)(_Board).remote()
        # Tries are counted here, because a lost node is an event that the sweep should tell of.
        self.task = ray.remote(num_cpus=work.threads, num_gpus=engine.gpus, max_retries=0)(_cell)

    def run(self, specs: Sequence[RunSpec]) -> None:
        waiting = list(specs)
        room = self._room()
        data = self._share({spec.data.model_dump_json(): spec.data for spec in specs})
        self.sign.parent.mkdir(parents=True, exist_ok=True)
        self.sign.touch()
        try:
            while waiting or self.running:
                while waiting and len(self.running) < room:
                    self._claim(waiting.pop(0), data)
                done, _ = self.ray.wait(list(self.running), timeout=PAUSE) if self.running else ([], [])
                self._listen()
                for task in done:
                    self._settle(task, *self.running.pop(task), data)
                room = self._room()
        finally:
            self._stop()

    def _room(self) -> int:
        """How many cells the cluster takes at a time, as it is now."""
        there, engine = self.ray.cluster_resources(), self.engine
        fit = int(there.get("CPU", 0) // self.work.threads)
        if engine.gpus:
            fit = min(fit, int(there.get("GPU", 0) / engine.gpus + 1e-6))
        if fit < 1 and not self.running:
            raise GottaError(
                f"a cell needs {self.work.threads} cores and {engine.gpus:g} GPUs; the Ray cluster has "
                f"{there.get('CPU', 0):g} and {there.get('GPU', 0):g}."
            )
        return min(fit, engine.jobs) if engine.jobs else fit

    def _share(self, named: dict[str, DataSpec]) -> dict[str, Any]:
        """Each data set once in the object store, from where every node takes one copy for all its tasks.

        On one node the files are as near, and the system keeps them in memory once.
        """
        if sum(node["Alive"] for node in self.ray.nodes()) < 2:
            return {}
        try:
            return {text: self.ray.put(share_dataset(spec)) for text, spec in named.items()}
        except (self.ray.exceptions.RayError, MemoryError, TypeError):  # too large or bound to files: nodes need those
            return {}

    def _claim(self, spec: RunSpec, data: dict[str, Any]) -> None:
        try:
            lease = claim(spec, self.work)
        except GottaError as error:
            lease = failure(spec, error)
        if isinstance(lease, Event):
            self.listen(lease)
        else:
            self._submit(spec, lease, data)

    def _submit(self, spec: RunSpec, lease: Lease, data: dict[str, Any]) -> None:
        costs = read_costs(spec, self.work)
        task = self.task.remote(spec, self.work, self.sign, self.board, data, costs)
        self.running[task] = spec, lease

    def _listen(self) -> None:
        try:
            events = self.ray.get(self.board.take.remote())
        except self.ray.exceptions.RayError:  # progress is nice to have
            return
        for event in events:
            for spec, lease in self.running.values():
                if spec.id == event.id and event.kind == "moved":
                    lease.progress = {"step": event.step, "steps": event.steps, "accuracy": event.accuracy}
            self.listen(event)

    def _settle(self, task: Any, spec: RunSpec, lease: Lease, data: dict[str, Any]) -> None:
        try:
            last = keep(spec, self.work, lease, self.ray.get(task), self.listen)
        except LeaseLost:
            last = Event("taken", spec.id)
        except self.ray.exceptions.RayTaskError as error:
            last = failure(spec, error.cause)
        except self.ray.exceptions.RayError as error:
            self.lost[spec.id] += 1
            if self.lost[spec.id] < ATTEMPTS:
                self.listen(Event("notice", spec.id, message="its worker or node died; it is run again"))
                self._submit(spec, lease, data)
                return
            last = Event("failed", spec.id, message=f"it lost its worker {ATTEMPTS} times: {type(error).__name__}")
        except Exception as error:
            last = failure(spec, error)
        if lease.held:
            self.work.leases().release(lease, last.kind)
        self.listen(last)

    def _stop(self) -> None:
        for task, (_, lease) in self.running.items():
            self.ray.cancel(task, force=True)
            self.work.leases().release(lease, "stopped")
        self.ray.kill(self.board)
        self.sign.unlink(missing_ok=True)


def _cell(spec: RunSpec, work: Work, sign: Path, board: Any, data: dict[str, Any], costs: str | None) -> Computed:
    """What a task does. Without the driver's store in sight it keeps no snapshots; its result goes through Ray."""
    torch.set_num_threads(work.threads)
    for text, reference in data.items():
        place(DataSpec.model_validate_json(text), _ray().get(reference))
    work = replace(work, shared=sign.exists())
    told = -inf

    def tell(event: Event) -> None:
        nonlocal told
        if event.kind != "moved" or monotonic() - told >= PAUSE:
            told = monotonic()
            board.add.remote(event)

    return compute(receive(spec), work, tell, costs=costs)


def _ray() -> Any:
    for name, value in SETTINGS.items():  # Ray reads them when it is imported
        os.environ.setdefault(name, value)
    try:
        import_module("ray.util.scheduling_strategies")
        return import_module("ray")
    except ImportError:
        raise GottaError("engine 'ray' needs Ray. Install it: pip install 'gotta[ray]'.") from None
