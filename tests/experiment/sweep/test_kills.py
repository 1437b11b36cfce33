"""Processes of a sweep are killed at random moments; nothing is lost, and nothing is done twice."""

import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
from experiment.tiny_sweep import completions, driver, leftovers, numbers, specs

from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.store import Store
from gotta.report.panel import place
from gotta.report.stored_run import Run
from gotta.report.tables.comparison import table
from gotta.report.tables.render import plain as plain_table

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the children of a process are read from /proc"),
]


def children(pid):
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def disturb(root, cells, kills, seed, drivers=2, pause=0.02, wait=0.4):
    """Sweep with several drivers at once, kill one process after the other, and start drivers anew; the kills done."""
    rng = random.Random(seed)
    running = [driver(root, cells, pause=pause) for _ in range(drivers)]
    done = {"driver": 0, "worker": 0}
    try:
        while sum(done.values()) < kills and len([*root.glob("runs/[!.]*")]) < cells:
            time.sleep(rng.random() * wait)
            running = [one if one.exitcode is None else driver(root, cells, pause=pause) for one in running]
            victim = rng.choice(running)
            workers = children(victim.pid)
            if not workers:  # it is only beginning or waiting
                continue
            # At first one of each, so that few kills show both as well.
            fewer = [kind for kind, count in done.items() if not count]
            kind = fewer[-1] if fewer else rng.choice(["driver", "worker"])
            try:
                os.kill(rng.choice(workers) if kind == "worker" else victim.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            done[kind] += 1
            victim.join(0.05)
    finally:
        for process in running:
            process.join(120)
    return done


def final_table(root):
    """The table as it is printed, as if every run had taken the same time."""
    runs = [Run.of(replace(run, summary=timeless(run.summary))) for run in Store(root).runs()]
    return plain_table(table(place(runs).whole))


def timeless(value):
    if isinstance(value, dict):
        return {name: 1.0 if name == "seconds" else timeless(part) for name, part in value.items()}
    return value


def check(tmp_path, cells, kills, seed, **more):
    calm, wild = tmp_path / "calm", tmp_path / "wild"
    undisturbed = driver(calm, cells)
    undisturbed.join(300)
    assert undisturbed.exitcode == 0
    done = disturb(wild, cells, kills, seed, **more)
    for _ in range(3):  # a cell that lost three workers to one driver is left to the next one
        last = driver(wild, cells)
        last.join(300)
        if last.exitcode == 0:
            break
    assert last.exitcode == 0
    assert sum(done.values()) == kills, f"the sweep was over after {done}"
    assert done["driver"]
    assert done["worker"]
    assert len(numbers(calm)) == cells
    assert numbers(wild) == numbers(calm)
    assert final_table(wild) == final_table(calm)
    assert max(completions(wild).values()) == 1
    assert leftovers(wild) == []
    return wild


def test_five_kills(tmp_path):
    check(tmp_path, cells=8, kills=5, seed=1, pause=0.05)


@pytest.mark.slow
def test_fifty_kills(tmp_path):
    wild = check(tmp_path, cells=40, kills=50, seed=2, pause=0.05)
    assert sum(line["event"] == "taken over" for line in Leases(wild).history()) >= 10


def test_two_drivers_share_the_cells_and_both_end_with_all_of_them(tmp_path):
    both = [driver(tmp_path, 8, jobs=1, pause=0.01) for _ in range(2)]
    for process in both:
        process.join(120)
    assert [process.exitcode for process in both] == [0, 0]
    assert completions(tmp_path) == {spec.id: 1 for spec in specs(8)}
    workers = {line["pid"] for line in Leases(tmp_path).history()}
    assert workers == {process.pid for process in both}


def test_workers_end_when_their_driver_is_killed(tmp_path):
    killed = driver(tmp_path, 10, pause=0.05)
    while len(workers := children(killed.pid)) < 2:
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.join()
    before = time.monotonic()
    while any(Path(f"/proc/{pid}").exists() and _running(pid) for pid in workers):
        assert time.monotonic() - before < 20
        time.sleep(0.05)


def _running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False
