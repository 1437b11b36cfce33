"""Many runs on one machine: worker processes with pinned threads; what is finished is kept, and not run again."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from queue import Empty
from typing import Any

import torch

from gotta.errors import GottaError
from gotta.experiment.clocks import recording
from gotta.experiment.run import run
from gotta.experiment.spec import RunSpec
from gotta.experiment.store import Store, environment


@dataclass(frozen=True)
class Event:
    """Something happened to a run: it started, moved on, finished or failed."""

    kind: str  # started, moved, finished, failed
    id: str
    step: int = 0
    steps: int = 0
    accuracy: float = 0.0
    message: str = ""


Listener = Callable[[Event], None]


def sweep(
    specs: Sequence[RunSpec], store: Store, jobs: int, threads: int, listen: Listener, device: str = "cpu"
) -> list[Event]:
    """Run what the store lacks; the failures. A worker that dies costs its unfinished run, which is tried once more."""
    store.sweep_leftovers()
    todo = [spec for spec in specs if not store.has(spec.id)]
    if jobs == 1 or len(todo) <= 1:
        torch.set_num_threads(threads)
        failures = []
        for spec in todo:
            last = execute(spec, store, listen, device)
            failures += [last] if last.kind == "failed" else []
        return failures
    return _Workers(store, min(jobs, len(todo)), threads, listen, device).run(todo)


def execute(spec: RunSpec, store: Store, listen: Listener, device: str = "cpu") -> Event:
    """One run, stored when complete; its last event."""
    listen(Event("started", spec.id))

    def moved(step: int, steps: int, accuracy: float) -> None:
        listen(Event("moved", spec.id, step, steps, accuracy))

    try:
        steps, summary = run(spec, moved, device=device, recording=recording(store.root, spec))
        store.write(spec.id, spec=spec.model_dump(), steps=steps, summary=summary, environment=environment())
        last = Event("finished", spec.id, accuracy=summary["accuracy"])
    except GottaError as error:
        last = Event("failed", spec.id, message=str(error))
    except Exception as error:
        # A policy or method of the user's own may raise anything; the other cells go on.
        last = Event("failed", spec.id, message=f"{type(error).__name__}: {error}")
    listen(last)
    return last


class _Workers:
    """Processes that take one run at a time from this one, which alone decides who runs what."""

    def __init__(self, store: Store, jobs: int, threads: int, listen: Listener, device: str) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.store, self.jobs, self.threads, self.listen, self.device = store, jobs, threads, listen, device
        self.events: Any = self.context.Queue()
        self.tasks: dict[BaseProcess, Any] = {}
        self.running: dict[BaseProcess, RunSpec] = {}
        self.tried: dict[str, int] = {}

    def run(self, specs: Sequence[RunSpec]) -> list[Event]:
        waiting, failures = list(specs), []
        try:
            while waiting or self.running:
                while waiting and len(self.running) < self.jobs:
                    self._give(waiting.pop(0))
                for event in self._news():
                    self.listen(event)
                    failures += [event] if event.kind == "failed" else []
                for spec in self._orphans():
                    if self.tried[spec.id] < 2:
                        waiting.insert(0, spec)
                    else:
                        failures.append(Event("failed", spec.id, message="its process died twice"))
                        self.listen(failures[-1])
        finally:
            self._stop()
        return failures

    def _give(self, spec: RunSpec) -> None:
        idle = [process for process in self.tasks if process not in self.running and process.is_alive()]
        process = idle[0] if idle else self._start()
        self.running[process] = spec
        self.tried[spec.id] = self.tried.get(spec.id, 0) + 1
        self.tasks[process].put(spec.model_dump())

    def _start(self) -> BaseProcess:
        tasks = self.context.Queue()
        arguments = (tasks, self.events, str(self.store.root), self.threads, self.device, sys.path)
        process = self.context.Process(target=_work, args=arguments, daemon=True)
        os.environ["OMP_NUM_THREADS"] = str(self.threads)
        process.start()
        self.tasks[process] = tasks
        return process

    def _news(self) -> list[Event]:
        try:
            event: Event = self.events.get(timeout=0.5)
        except Empty:
            return []
        if event.kind in ("finished", "failed"):
            self.running = {p: spec for p, spec in self.running.items() if spec.id != event.id}
        return [event]

    def _orphans(self) -> list[RunSpec]:
        """The runs whose process has died without a word."""
        dead = [process for process in self.running if not process.is_alive() and self.events.empty()]
        for process in dead:
            del self.tasks[process]
        return [self.running.pop(process) for process in dead]

    def _stop(self) -> None:
        for process in self.tasks:
            process.terminate()
        for process in self.tasks:
            process.join()
        self.store.sweep_leftovers()


def _work(tasks: Any, events: Any, root: str, threads: int, device: str, path: list[str]) -> None:
    """The life of a worker: one run after the other until it is stopped."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then stops us
    sys.path[:] = path
    torch.set_num_threads(threads)
    store = Store(root)
    while True:
        execute(RunSpec.of(tasks.get()), store, events.put, device)
