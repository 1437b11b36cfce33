"""Cells on this machine: worker processes with pinned threads, and each with a GPU of its own where there are some."""

import os
import signal
import sys
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, NoReturn

import torch

from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import forking
from gotta.experiment.sweep.cell import LAST, Event, Listener, Work, execute, receive
from gotta.workers import end_with_parent

ATTEMPTS = 3
VARIABLE = "CUDA_VISIBLE_DEVICES"


def find_gpus() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes: numbers, or UUIDs."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return [str(number) for number in range(torch.cuda.device_count())]
    names = [name.strip() for name in named.split(",")]
    return names[: names.index("-1")] if "-1" in names else [name for name in names if name]


def choose_gpus(wanted: float, device: str) -> list[str]:
    """The first `wanted` GPUs for a sweep on `device`; all of them where none are asked for, none on another device."""
    if device != "cuda":
        if wanted:
            raise GottaError(f"gpus={wanted:g} needs the device 'cuda', got '{device}'.")
        return []
    found = find_gpus()
    if wanted != int(wanted) or wanted > len(found):
        told = f"gpus={wanted:g}: expected a whole number of at most {len(found)}, the GPUs of this machine"
        told += f": {', '.join(found)}" if found else ""
        raise GottaError(f"{told}. More jobs than GPUs share them: --jobs 16 --gpus 8.")
    return found[: int(wanted)] if wanted else found


@dataclass(eq=False)
class _Worker:
    """A process and its own pipe: one that is killed while it speaks cannot silence the others."""

    process: BaseProcess
    pipe: "Connection[Any, Any]"
    gpu: str = ""
    spec: RunSpec | None = None


class Local:
    """Up to `jobs` processes that take one cell at a time. The cell of one that dies is run again.

    On the device "cuda" every process has one of the first `gpus` GPUs (0: of all) to itself, or shares it if there are
    more processes than GPUs; without `jobs` there is one process for each.
    """

    def __init__(self, jobs: int = 0, gpus: float = 0.0) -> None:
        self.jobs, self.gpus = jobs, gpus

    def run(self, specs: Sequence[RunSpec], work: Work, listen: Listener) -> None:
        gpus = choose_gpus(self.gpus, work.device)
        jobs = min(self.jobs or len(gpus) or os.cpu_count() or 1, len(specs))
        if jobs == 1:
            before = torch.get_num_threads()
            torch.set_num_threads(work.threads)
            try:
                for spec in specs:
                    execute(spec, work, listen)
            finally:
                torch.set_num_threads(before)  # of a process that may have other things to do
        else:
            _Pool(jobs, gpus, work, listen).run(specs)


class _Pool:
    def __init__(self, size: int, gpus: Sequence[str], work: Work, listen: Listener) -> None:
        self.size, self.gpus, self.work, self.listen = size, gpus, work, listen
        forking.begin(work.threads)
        self.context: Any = forking.workers_context()
        self.workers: list[_Worker] = []
        self.waiting: deque[RunSpec] = deque()
        self.tried: Counter[str] = Counter()

    def run(self, specs: Sequence[RunSpec]) -> None:
        self.waiting.extend(specs)
        try:
            while self.waiting or any(worker.spec for worker in self.workers):
                while self.waiting and sum(bool(worker.spec) for worker in self.workers) < self.size:
                    self._give(self.waiting.popleft())
                ready = wait([worker.pipe for worker in self.workers])
                for worker in [worker for worker in self.workers if worker.pipe in ready]:
                    self._hear(worker)
        finally:
            self._stop()

    def _give(self, spec: RunSpec) -> None:
        worker = next((worker for worker in self.workers if worker.spec is None), None) or self._start()
        worker.spec = spec
        self.tried[spec.id] += 1
        with suppress(OSError):  # it may have died; then its pipe will say so
            worker.pipe.send(spec)  # with its name, which is what the driver waits for

    def _hear(self, worker: _Worker) -> None:
        """Pass on what a worker tells, or that it has died."""
        try:
            event = worker.pipe.recv()
        except (EOFError, OSError):
            return self._bury(worker)
        assert isinstance(event, Event)
        if event.kind in LAST:
            worker.spec = None
        self.listen(event)

    def _bury(self, worker: _Worker) -> None:
        """The cell of a dead worker comes next, unless it has been tried too often."""
        worker.process.join()
        worker.pipe.close()
        self.workers.remove(worker)
        if worker.spec is not None and self.tried[worker.spec.id] < ATTEMPTS:
            self.waiting.appendleft(worker.spec)
        elif worker.spec is not None:
            self.listen(Event("failed", worker.spec.id, message=f"its process died {ATTEMPTS} times"))

    def _start(self) -> _Worker:
        mine, theirs = self.context.Pipe()
        gpu = min(self.gpus, key=[worker.gpu for worker in self.workers].count, default="")  # that the fewest have
        environment = {**os.environ, **({VARIABLE: gpu} if gpu else {})}
        ours = (sys.path, environment)  # a process forked from another one has that one's
        process = self.context.Process(target=_work, args=(theirs, self.work, *ours), daemon=True)
        with forking.without_main():
            process.start()
        theirs.close()  # so that its end closes with the worker
        self.workers.append(_Worker(process, mine, gpu))
        return self.workers[-1]

    def _stop(self) -> None:
        for worker in self.workers:
            worker.process.terminate()
        for worker in self.workers:
            worker.pipe.close()
            worker.process.join()


def _work(pipe: "Connection[Any, Any]", work: Work, path: list[str], environment: dict[str, str]) -> None:
    """The life of a worker: one cell after the other until it is stopped or nobody listens any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops us
    signal.signal(signal.SIGTERM, _leave)
    sys.path[:] = path
    os.environ.clear()
    os.environ.update(environment)
    torch.set_num_threads(work.threads)
    end_with_parent()

    def tell(event: Event) -> None:
        try:
            pipe.send(event)
        except OSError:
            _leave()

    while True:
        try:
            execute(receive(pipe.recv()), work, tell)
        except (EOFError, OSError):
            return


def _leave(*_: object) -> NoReturn:
    raise SystemExit(0)
