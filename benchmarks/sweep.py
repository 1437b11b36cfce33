"""How much faster `gotta bench --jobs 2` finishes the same cells than `--jobs 1`, on two otherwise idle cores; and
whether the driver of a sweep on Ray keeps up with thousands of cells at a time.

    python benchmarks/sweep.py [--seeds 12] [--repeat 2]
    python benchmarks/sweep.py --simulate 20000 [--at-once 4000] [--seconds 60]

The first times the whole command, from typing it to its table, one and two workers in turn. Every sweep must give the
same numbers. A busy machine makes the figure meaningless, so the load before the start is printed with it.

The second runs the engine's own driver, with real leases and a real store, on a cluster that is made up: `--at-once`
cells run at a time, each of `--seconds`, tells of its progress twice a second, and hands over a result as a real cell
does. It prints how much of a core the driver took, all its threads together, without what making up the cluster took.
"""

import argparse
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, process_time, sleep, thread_time
from types import SimpleNamespace
from typing import Any

from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.cell import Computed, Event, Work
from gotta.experiment.sweep.engines import ray as engine
from gotta.experiment.sweep.store import Store

TARGET = 1.7
CORE = 0.5  # of one, that the driver of simulated cells may take
STEPS = 100
RECIPE = """
title: Two workers and one
base: {{stream: {{per_class: 50, domains: [snow, fog, contrast]}}, memory: {{capacity: 32}}}}
seeds: {seeds}
cells: [{{method: [norm, tent], memory: [fps]}}]
"""


def timed(jobs: int, seeds: int) -> tuple[float, dict[str, float]]:
    """Seconds for all cells, and their accuracies."""
    with tempfile.TemporaryDirectory() as folder:
        recipe, out = Path(folder) / "recipe.yaml", Path(folder) / "out"
        recipe.write_text(RECIPE.format(seeds=list(range(seeds))))
        command = [sys.executable, "-m", "gotta.cli", "bench", recipe, "--jobs", str(jobs), "--out", out]
        start = perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds = perf_counter() - start
        return seconds, {run.id: run.summary["accuracy"] for run in Store(out).runs()}


@dataclass(eq=False)
class Task:
    """A cell that computes nothing."""

    id: str
    ends: float
    told: float


class Cluster:
    """As much of Ray as the driver uses. What it costs to make things up is counted apart, in `own`."""

    def __init__(self, at_once: int, seconds: float, result: Computed) -> None:
        self.at_once, self.seconds, self.result = at_once, seconds, result
        self.tasks: dict[Any, Task] = {}
        self.waiting: list[Any] = []
        self.events = 0
        self.own = 0.0
        self.first_full: tuple[float, float, int] | None = None  # a look at it when every place was taken; the last one
        self.last_full = self.look()
        affinity = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *given, **named: None)
        self.util = SimpleNamespace(scheduling_strategies=affinity)
        self.exceptions = SimpleNamespace(
            **dict.fromkeys(("RayError", "RayTaskError", "NodeDiedError", "ObjectLostError"), OSError)
        )

    @contextmanager
    def making_up(self) -> Iterator[None]:
        before = thread_time()
        yield
        self.own += thread_time() - before

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": float(self.at_once)}

    def nodes(self) -> list[dict[str, bool]]:
        return [{"Alive": True}]

    def remote(self, **_: Any) -> Any:
        def made(what: Any) -> Any:
            if isinstance(what, type):
                return SimpleNamespace(remote=lambda: SimpleNamespace(take=SimpleNamespace(remote=lambda: "take")))
            return SimpleNamespace(remote=self.submit)

        return made

    def submit(self, spec: RunSpec, *_: Any) -> Any:
        pickle.dumps(spec)  # as Ray does
        reference = object()
        self.waiting.append((reference, spec.id))
        return reference

    def wait(self, references: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
        sleep(timeout)
        with self.making_up():
            now = perf_counter()
            done = [reference for reference, task in self.tasks.items() if task.ends <= now]
            for reference in done:
                del self.tasks[reference]
            room = self.at_once - len(self.tasks)
            for number, (reference, id) in enumerate(self.waiting[:room]):
                # At first cells end one after the other, as they do later on.
                share = (number + 1) / room if room == self.at_once else 1.0
                self.tasks[reference] = Task(id, now + self.seconds * share, now)
            del self.waiting[:room]
            if self.waiting:
                self.last_full = self.look()
                self.first_full = self.first_full or self.last_full
            return done, []

    def look(self) -> tuple[float, float, int]:
        """Now: seconds by the clock, those that the driver has taken of a core, and events so far."""
        return perf_counter(), process_time() - self.own, self.events

    def get(self, what: Any) -> Any:
        with self.making_up():
            data = pickle.dumps(self.progress() if what == "take" else self.result)
        return pickle.loads(data)

    def progress(self) -> list[Event]:
        """What the board has after every running cell has told of itself twice a second."""
        now, board = perf_counter(), engine._Board()
        for task in self.tasks.values():
            while task.told + engine.PAUSE <= now:
                task.told += engine.PAUSE
                share = 1 - (task.ends - task.told) / self.seconds
                board.add(Event("moved", task.id, min(STEPS, int(STEPS * share)), STEPS, 50.0))
                self.events += 1
        return board.take()

    def kill(self, _: Any) -> None: ...

    def cancel(self, _: Any, force: bool) -> None: ...


def simulate(cells: int, at_once: int, seconds: float) -> None:
    first = RunSpec.of({"method": {"name": "norm"}, "stream": {"per_class": STEPS, "domains": ["snow"]}})
    steps, summary = run(first)
    cluster = Cluster(at_once, seconds, Computed(steps, summary, {"made": "up"}))
    specs = [first.model_copy(update={"seed": seed}) for seed in range(cells)]
    heard: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        made_up = replace(engine.Ray(), address="made up")
        driver = engine._Driver(cluster, made_up, Work(folder), lambda event: heard.update([event.kind]))
        start = cluster.look()
        driver.run(specs)
        end = cluster.look()
    print(f"{cells} cells, {at_once} at a time, in {end[0] - start[0]:.0f} s; heard: {dict(heard)}")
    told = f"at most {CORE} of a core is expected; making up the cluster took {cluster.own / (end[0] - start[0]):.2f}"
    for name, first, last in (
        ("in all", start, end),
        ("while every place was taken", cluster.first_full, cluster.last_full),
    ):
        seconds, cpu, events = (b - a for a, b in zip(first or start, last, strict=True))
        print(f"{name}, {seconds:.0f} s: {events / seconds:.0f} events a second, {cpu / seconds:.2f} of a core")
    print(told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--simulate", type=int, metavar="CELLS", help="Cells on a cluster that is made up.")
    parser.add_argument("--at-once", type=int, default=4000)
    parser.add_argument("--seconds", type=float, default=60.0, help="That a simulated cell takes.")
    parser.add_argument("--seeds", type=int, default=12, help="Two cells each.")
    parser.add_argument("--repeat", type=int, default=2)
    given = parser.parse_args()
    if given.simulate:
        return simulate(given.simulate, given.at_once, given.seconds)
    load = os.getloadavg()[0]
    print(f"{2 * given.seeds} cells, {os.cpu_count()} cores, load before the start {load:.2f}", flush=True)
    ratios, seen = [], []
    for _ in range(given.repeat):
        (one, first), (two, second) = timed(1, given.seeds), timed(2, given.seeds)
        seen += [first, second]
        ratios.append(one / two)
        print(f"1 worker {one:6.1f} s   2 workers {two:6.1f} s   ratio {ratios[-1]:.2f}", flush=True)
    assert all(accuracies == seen[0] for accuracies in seen), "the numbers depend on the workers"
    print(f"median ratio {statistics.median(ratios):.2f} (expected at least {TARGET} on idle cores)")


if __name__ == "__main__":
    main()
