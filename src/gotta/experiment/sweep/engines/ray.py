"""Cells on many machines with Ray. The driver claims and stores; tasks compute, and keep snapshots where they can."""

import os
import sys
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from math import inf
from pathlib import Path
from secrets import token_hex
from shutil import copy, copytree, ignore_patterns
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import torch

from gotta.data.home import VARIABLE
from gotta.errors import GottaError, import_extra
from gotta.experiment.run.loaded import place, share_dataset
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import DataSpec
from gotta.experiment.spec.source_files import source_files
from gotta.experiment.spec.user_parts import find_user_parts
from gotta.experiment.sweep.cell import Computed, Event, Listener, Work, claim, compute, conclude, failure, receive
from gotta.experiment.sweep.leases import Lease, name_heart

ATTEMPTS = 5  # how often a cell may lose its worker; nodes come and go
# Nothing is sent to Ray's makers, and a busy machine gets longer than half a minute to start.
SETTINGS = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_raylet_start_wait_time_s": "180"}
SETTINGS |= {"RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "50"}  # where a busy machine starts a proxy; Serve would wait 5
ADDRESS = "RAY_ADDRESS"
PAUSE = 0.5  # seconds between two looks at what has happened
CALLS = 4000  # events a second that the board takes; with more cells at a time each of them tells less often
SENT = "gotta_sent"  # the package in which modules of the user's own travel
AHEAD = 1000  # cells that wait in the cluster beyond those that fit, so that an autoscaler sees what is wanted
WRITERS = 16  # threads that claim and store
ROOM = 5.0  # seconds between two looks at how large the cluster is


@dataclass(frozen=True)
class Ray:
    """Up to `jobs` tasks at a time (0: what fits and more, for an autoscaler to see), each with `work.threads` cores, a
    share of a GPU, and `resources`: "memory" in GB, others by the names that the cluster gives them.

    "auto" or "host:port" joins a cluster, and so does the variable RAY_ADDRESS; else Ray is started on this machine.
    """

    jobs: int = 0
    address: str | None = None
    gpus: float = 0.0
    resources: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _ray()

    @property
    def joins(self) -> str:
        """The cluster to join; nothing where one is started here."""
        return self.address or os.environ.get(ADDRESS, "")

    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        check_gpus(self.gpus, work.device)
        ray = _ray()
        if ray.is_initialized():
            _Driver(ray, self, work, listen).run(specs)
            return
        # Ray sets the threads of a task by itself unless told; the path leads to policies and methods of one's own.
        variables = {"OMP_NUM_THREADS": str(work.threads), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        variables |= {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
        given = {} if self.joins else {"include_dashboard": False}
        with TemporaryDirectory(prefix="gotta-") as spare:
            sent = stage_modules(find_modules(specs) if self.joins else [], Path(spare))
            connect(ray, self.joins, runtime_env={"env_vars": variables, **sent}, logging_level="error", **given)
            try:
                _Driver(ray, self, work, listen).run(specs)
            finally:
                ray.shutdown()


def check_gpus(gpus: float, device: str) -> None:
    """Refuse a sweep whose cells could not see the device that they are to use."""
    if device.startswith("cuda") and not gpus:
        told = f"device '{device}' with gpus=0: Ray shows a cell the GPUs that it asks for, and no others"
        raise GottaError(f"{told}. Give --gpus 1, or a share such as --gpus 0.25.")


def find_modules(specs: Sequence[RunSpec]) -> list[str]:
    """The files and packages of the user's own that these cells import, for nodes that do not have them."""
    parts = {name for spec in specs for name in find_user_parts(spec.model_dump()).values() if ":" in name}
    names = {file.partition(".")[0] for part in parts for file in source_files(part.partition(":")[0], part)}
    places = [found for name in sorted(names) if (found := find_spec(name)) is not None]
    return [str(next(iter(place.submodule_search_locations or ()), place.origin)) for place in places]


def stage_modules(modules: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Copies of them in one package, so that on other nodes too they lie side by side; in the words of Ray."""
    stage = folder / SENT
    stage.mkdir()
    (stage / "__init__.py").touch()
    for module in map(Path, modules):
        if module.is_dir():
            copytree(module, stage / module.name, ignore=ignore_patterns("__pycache__", ".*"))
        else:
            copy(module, stage)
    return {"py_modules": [str(stage)]} if modules else {}


def _use_sent() -> None:
    """Let this process import what the driver has sent, if anything."""
    if SENT not in sys.modules and find_spec(SENT) is not None:
        sys.path[:0] = import_module(SENT).__path__


class _Board:
    """Where tasks leave word of their progress; of how far a cell is, the last word. Lives beside the driver."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, str, str], Event] = {}

    def add(self, event: Event) -> None:
        self.events[event.id, event.kind, event.message] = event

    def take(self) -> list[Event]:
        taken, self.events = list(self.events.values()), {}
        return taken


class _Driver:
    """Gives cells to the cluster and hears of them. Threads claim and store, which is waiting for disks."""

    def __init__(self, ray: Any, engine: Ray, work: Work, listen: Listener) -> None:
        self.ray, self.engine, self.work, self.listen = ray, engine, work, listen
        own = {name: amount for name, amount in engine.resources.items() if name != "memory"}
        memory = engine.resources.get("memory", 0) * 1e9
        needs = {"CPU": work.threads, "GPU": engine.gpus, "memory": memory, **own}
        self.needs = {name: amount for name, amount in needs.items() if amount}
        self.writing: dict[Future[list[Event]], RunSpec] = {}  # cells that are being claimed or stored
        self.running: dict[Any, RunSpec] = {}  # by task
        self.leases: dict[str, Lease] = {}  # of the cells that have not ended
        self.data: dict[DataSpec, Any] = {}
        self.lost: Counter[str] = Counter()
        self.fit, self.looked = 0, -inf
        self.sign = work.leases().folder / name_heart(token_hex(8))  # who sees it shares this store
        on_node = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
        here = on_node(ray.get_runtime_context().get_node_id(), soft=True)
        self.board = ray.remote(num_cpus=0, scheduling_strategy=here)(_Board).remote()
        # Tries are counted here, because a lost node is an event that the sweep should tell of.
        given = {"num_cpus": work.threads, "num_gpus": engine.gpus, "memory": int(memory), "resources": own}
        self.task = ray.remote(max_retries=0, **given)(_cell)

    def run(self, specs: Sequence[RunSpec]) -> None:
        waiting = deque(specs)
        self._look_for_room(waiting[0])
        self.data = self._share({spec.data for spec in specs})
        self.sign.parent.mkdir(parents=True, exist_ok=True)
        self.sign.touch()
        pool = ThreadPoolExecutor(WRITERS, "gotta-store")
        try:
            while waiting or self.under_way:
                # That an autoscaler sees what is wanted, a cluster is given more than fits.
                room = self.engine.jobs or self.fit + (AHEAD if self.engine.joins else 0)
                while waiting and self.under_way < room:
                    spec = waiting.popleft()
                    self.writing[pool.submit(self._claim, spec)] = spec
                for task in self._wait():
                    spec = self.running.pop(task)
                    self.writing[pool.submit(self._keep, spec, task)] = spec
                self._settle_written()
                self._listen()
                self._look_for_room()
        finally:
            pool.shutdown(cancel_futures=True)
            self._stop()

    @property
    def under_way(self) -> int:
        return len(self.writing) + len(self.running)

    def _wait(self) -> list[Any]:
        """All tasks that have ended meanwhile."""
        if not self.running:
            wait(self.writing, PAUSE, FIRST_COMPLETED)
            return []
        done: list[Any] = self.ray.wait(list(self.running), num_returns=len(self.running), timeout=PAUSE)[0]
        return done

    def _look_for_room(self, first: RunSpec | None = None) -> None:
        """How many cells fit now. A cluster may have no nodes yet; what is started here will not grow."""
        if monotonic() - self.looked < ROOM:
            return
        self.looked = monotonic()
        there = self.ray.cluster_resources()
        self.fit = int(min(there.get(name, 0) / amount + 1e-6 for name, amount in self.needs.items()))
        if self.fit or first is None:
            return
        needed, has = (", ".join(f"{name} {of.get(name, 0):g}" for name in self.needs) for of in (self.needs, there))
        if not self.engine.joins:
            raise GottaError(f"a cell needs {needed}; Ray has {has} here.")
        message = f"waits for a node: a cell needs {needed}, and the Ray cluster has {has} in all"
        self.listen(Event("notice", first.id, message=message))

    def _share(self, named: set[DataSpec]) -> dict[DataSpec, Any]:
        """Each data set once in the object store, from where every node takes one copy for all its tasks.

        On one node the files are as near, and the system keeps them in memory once.
        """
        if sum(node["Alive"] for node in self.ray.nodes()) < 2:
            return {}
        try:
            return {data: self.ray.put(share_dataset(data)) for data in named}
        except (self.ray.exceptions.RayError, MemoryError, TypeError):  # too large or bound to files: nodes need those
            return {}

    def _claim(self, spec: RunSpec) -> list[Event]:
        """The last event of a cell that is not for us; of another one there is a lease from now on."""
        claimed = claim(spec, self.work)
        if isinstance(claimed, Event):
            return [claimed]
        self.leases[spec.id] = claimed
        return []

    def _keep(self, spec: RunSpec, task: Any) -> list[Event]:
        """Store what a task gave, whose lease ends with that. Of a cell that is to be run again the lease stays."""
        try:
            result: Computed = self.ray.get(task)
        except self.ray.exceptions.RayError as error:
            told = self._judge(spec, error)
            if told.kind == "failed":
                self.work.leases().release(self.leases.pop(spec.id), told.kind)
            return [told]
        heard: list[Event] = []
        last = conclude(spec, self.work, self.leases.pop(spec.id), lambda: result, heard.append)
        return [*heard, last]

    def _judge(self, spec: RunSpec, error: Any) -> Event:
        """What an error says of a cell. Nodes are taken away as they are given; workers die of something."""
        if isinstance(error, self.ray.exceptions.RayTaskError):
            return failure(spec, error.cause)
        gone = isinstance(error, self.ray.exceptions.NodeDiedError | self.ray.exceptions.ObjectLostError)
        self.lost[spec.id] += not gone
        if self.lost[spec.id] < ATTEMPTS:
            return Event("notice", spec.id, message=f"its {'node' if gone else 'worker'} died; it is run again")
        return Event("failed", spec.id, message=f"it lost its worker {ATTEMPTS} times: {type(error).__name__}")

    def _settle_written(self) -> None:
        for future in [future for future in self.writing if future.done()]:
            spec = self.writing.pop(future)
            for event in future.result():
                self.listen(event)
            if spec.id in self.leases:  # it is still to be run
                pause = max(PAUSE, len(self.running) / CALLS)
                task = self.task.remote(spec, self.work, self.sign, self.board, self.data, pause)
                self.running[task] = spec

    def _listen(self) -> None:
        try:
            events = self.ray.get(self.board.take.remote())
        except self.ray.exceptions.RayError:  # progress is nice to have
            return
        for event in events:
            if lease := self.leases.get(event.id):  # else it has ended meanwhile
                if event.kind == "moved":
                    lease.progress = {"step": event.step, "steps": event.steps, "accuracy": event.accuracy}
                self.listen(event)

    def _stop(self) -> None:
        for task in self.running:
            self.ray.cancel(task, force=True)
        for lease in self.leases.values():
            self.work.leases().release(lease, "stopped")
        self.ray.kill(self.board)
        self.sign.unlink(missing_ok=True)


def _cell(spec: RunSpec, work: Work, sign: Path, board: Any, data: dict[DataSpec, Any], pause: float) -> Computed:
    """What a task does. Without the driver's store in sight it keeps no snapshots; its result goes through Ray."""
    torch.set_num_threads(work.threads)
    _use_sent()
    for named, reference in data.items():
        place(named, _ray().get(reference))
    work = replace(work, shared=sign.exists())
    told = -inf

    def tell(event: Event) -> None:
        nonlocal told
        if event.kind != "moved" or monotonic() - told >= pause:
            told = monotonic()
            board.add.remote(event)

    return compute(receive(spec), work, tell)


def _ray() -> Any:
    import_ray("ray.util.scheduling_strategies", "engine 'ray' needs Ray", "ray")
    return import_module("ray")


def import_ray(module: str, who: str, extra: str) -> Any:
    os.environ.update({**SETTINGS, **os.environ})  # Ray reads them when it is imported
    return import_extra(module, who, extra)


def connect(ray: Any, address: str, **given: Any) -> None:
    """Join a cluster, or start Ray on this machine if none is named."""
    try:
        ray.init(address=address or "local", log_to_driver=False, **given)
    except Exception as error:  # Ray raises anything here, Exception itself among it
        what = f"no Ray cluster at '{address}'" if address else "Ray does not start here"
        way_out = ". If it is there and asks for a token, set RAY_AUTH_MODE=token" if address else ""
        raise GottaError(f"{what}: {(str(error).splitlines() or [type(error).__name__])[0]}{way_out}") from error
