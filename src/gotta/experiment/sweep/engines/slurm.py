"""Cells as Slurm jobs, through submitit. Jobs claim, compute and store; the driver submits them and looks on.

What a job tells goes through the store, which every node must see: its progress with the heartbeats of its lease, its
last word as a small JSON file.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from secrets import token_hex
from time import monotonic, sleep
from typing import Any
from unittest.mock import patch

import torch

from gotta.errors import GottaError, check_known, import_extra
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import LAST, Event, Listener, Work, execute, receive
from gotta.files import write_atomically
from gotta.json_yaml import read_json

NEEDS = "engine 'slurm' needs submitit"
ATTEMPTS = 3
LOOK = 1.0  # seconds between two looks at the store
ASK = 10.0  # seconds between two questions to the controller
HOURS = 4  # a job that needs longer is requeued and goes on from its snapshot
REQUEUES = 100
ARRAY = 1001  # jobs of an array, where the controller does not say
TAKEN = ("PREEMPTED", "NODE_FAIL", "REQUEUED", "BOOT_FAIL")  # states of a job that has lost its node


@dataclass(frozen=True)
class Slurm:
    """Arrays of jobs, `jobs` of them at a time (0: as Slurm allows), each with `pack` cells one after the other.

    `options` are those of sbatch, by long name. Two are ours: `minutes` is the time limit of a job, and `cluster=local`
    runs jobs here, to try things out.
    """

    jobs: int = 0
    gpus: float = 0.0
    pack: int = 1
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _submitit()
        check_known("cluster", self.cluster, ("slurm", "local"))
        if self.gpus != int(self.gpus):
            raise GottaError(f"gpus={self.gpus:g}: Slurm gives a whole number to a cell, Ray also a fraction.")
        if self.cluster == "slurm" and shutil.which("srun") is None:
            raise GottaError("engine 'slurm' finds no Slurm here: there is no srun. Start it on a node of the cluster.")

    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        logs = Path(work.root) / "slurm"
        executor = _submitit().AutoExecutor(logs, cluster=self.cluster, slurm_max_num_timeout=REQUEUES)
        flags = {name: value for name, value in self.options.items() if name not in ("cluster", "minutes")}
        executor.update_parameters(
            name="gotta",
            timeout_min=int(self.options.get("minutes", HOURS * 60)),
            cpus_per_task=work.threads,
            gpus_per_node=int(self.gpus),
            slurm_additional_parameters={"requeue": True, **flags},
        )
        _Driver(executor, self, work, listen).run(specs)

    @property
    def cluster(self) -> str:
        return self.options.get("cluster", "slurm")


@dataclass
class Pack:
    """What a job does. Preempted or out of time it is submitted again as it is: cells that have an outcome are left
    alone, and of the others the snapshot knows where they were."""

    cells: Sequence[tuple[RunSpec, Path]]
    work: Work

    def __call__(self) -> None:
        torch.set_num_threads(self.work.threads)
        for spec, outcome in self.cells:
            if not outcome.exists():
                told: list[Event] = []
                execute(receive(spec), self.work, told.append)
                kept = [asdict(event) for event in told if event.kind in ("notice", *LAST)]
                write_atomically(outcome, json.dumps(kept))

    def checkpoint(self) -> Any:
        """Asked for by submitit on preemption; the exit that follows gives the lease back."""
        return _submitit().helpers.DelayedSubmission(self)


class _Driver:
    def __init__(self, executor: Any, engine: Slurm, work: Work, listen: Listener) -> None:
        self.executor, self.engine, self.work, self.listen = executor, engine, work, listen
        self.room = engine.pack * (engine.jobs or os.cpu_count() or 1) if engine.cluster == "local" else sys.maxsize
        self.folder = Path(work.root) / "slurm" / f"outcomes-{token_hex(4)}"
        self.running: dict[str, tuple[RunSpec, Any]] = {}
        self.tried: Counter[str] = Counter()
        self._asked = monotonic()

    def run(self, specs: Sequence[RunSpec]) -> None:
        waiting = list(specs)
        try:
            while waiting or self.running:
                batch, waiting = waiting[: self.room - len(self.running)], waiting[self.room - len(self.running) :]
                self._submit(batch)
                sleep(LOOK)
                for event in self.work.progress(self.running):
                    self.listen(event)
                waiting += self._settle()
        finally:
            for job in self._jobs():
                job.cancel(check=False)

    def _submit(self, specs: Sequence[RunSpec]) -> None:
        if not specs:
            return
        self.tried.update(spec.id for spec in specs)
        packs = list(_split(specs, self.engine.pack))
        arrays = list(_split(packs, _array_size() if self.engine.cluster == "slurm" else len(packs)))
        if self.engine.jobs:
            self.executor.update_parameters(slurm_array_parallelism=max(1, self.engine.jobs // len(arrays)))
        # What jobs inherit: their threads, and the way to policies and methods of one's own.
        path = os.pathsep.join(filter(None, sys.path))
        with patch.dict(os.environ, OMP_NUM_THREADS=str(self.work.threads), PYTHONPATH=path):
            for array in arrays:
                todo = [Pack([(spec, self._outcome(spec.id)) for spec in pack], self.work) for pack in array]
                for pack, job in zip(array, self._submit_array(todo), strict=True):
                    self.running |= {spec.id: (spec, job) for spec in pack}

    def _submit_array(self, packs: Sequence[Pack]) -> Any:
        try:
            return self.executor.submit_array(packs)
        except (_submitit().core.utils.FailedJobError, OSError) as error:  # a wrong partition, no controller
            raise GottaError(f"Slurm does not take the jobs: {' '.join(str(error).split())}") from error

    def _outcome(self, id: str) -> Path:
        return self.folder / f"{id}-{self.tried[id]}.json"

    def _jobs(self) -> list[Any]:
        return list({job.job_id: job for _, job in self.running.values()}.values())

    def _settle(self) -> list[RunSpec]:
        """Pass on the last events; the cells whose jobs are gone without one."""
        gone = self._find_gone()
        there = set(os.listdir(self.folder)) if self.folder.exists() else set()
        again = []
        for id, (spec, job) in list(self.running.items()):
            if self.engine.cluster == "local" and job.job_id not in gone:
                continue
            path = self._outcome(id)
            told = _read_events(path) if path.name in there else []
            if not told and job.job_id in gone:
                self.tried[id] -= _lost_its_node(job)
                if self.tried[id] < ATTEMPTS:
                    again.append(spec)
                else:
                    message = f"its job ended {ATTEMPTS} times without a report: see {job.paths.folder}"
                    told = [Event("failed", id, message=message)]
            for event in told:
                self.listen(event)
            if told or spec in again:
                del self.running[id]
        return again

    def _find_gone(self) -> set[str]:
        """The jobs that are neither waiting nor running. Read before their last words, which come earlier."""
        if self.engine.cluster == "local":
            return {job.job_id for job in self._jobs() if job.done()}
        if monotonic() - self._asked < ASK:
            return set()
        self._asked = monotonic()
        answer = _ask("squeue", "--noheader", "--array", "--format=%i", f"--user={os.getuid()}")
        if answer.returncode:  # the controller does not answer: nothing is known
            return set()
        return {job.job_id for job in self._jobs()} - set(answer.stdout.split())


def _split(things: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(things), size):
        yield things[start : start + size]


def _array_size() -> int:
    """How many jobs the controller takes as one array."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", _ask("scontrol", "show", "config").stdout, re.MULTILINE)
    return max(1, (int(found[1]) if found else ARRAY) - 1)  # the largest number of a job is one less


def _lost_its_node(job: Any) -> bool:
    """Whether a job that is gone was taken from its node, as far as the controller still knows."""
    state = re.search(r"JobState=(\w+)", _ask("scontrol", "show", "job", str(job.job_id)).stdout)
    return state is not None and state[1] in TAKEN


def _ask(*command: str) -> "subprocess.CompletedProcess[str]":
    if shutil.which(command[0]) is None:
        return subprocess.CompletedProcess(command, 127, "", f"there is no {command[0]}")
    return subprocess.run(command, capture_output=True, text=True, check=False)


def _read_events(path: Path) -> list[Event]:
    """What a job has told, its last word last; nothing where that cannot be read."""
    try:
        return [Event(**told) for told in read_json(path)]
    except (OSError, ValueError, TypeError):
        return []


def _submitit() -> Any:
    import_extra("submitit.helpers", NEEDS, "slurm")
    return import_extra("submitit", NEEDS, "slurm")
