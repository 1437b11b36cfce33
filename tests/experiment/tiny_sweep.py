"""Sweeps of many small cells on the tiny network, in processes of their own that can be killed."""

import json
import multiprocessing
import time
from collections import Counter

from tiny import TinyData, seeded_net, seeded_transformer

from gotta.experiment.run import loaded as module
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import forking
from gotta.experiment.sweep.cell import Work
from gotta.experiment.sweep.engines.local import Local
from gotta.experiment.sweep.leases import Leases
from gotta.experiment.sweep.store import Store
from gotta.experiment.sweep.sweep import Sweep
from gotta.json_yaml import plain

STREAM = {"domains": ["dark", "bright"], "order": "dirichlet", "gamma": 0.1}
PAIRS = [("rotta", "cstu"), ("tent", "fps"), ("note", "pbrs"), ("norm", "reservoir"), ("sar", "none")]


class SlowData(TinyData):
    """Takes its time over every batch, so that there is a middle to be killed in."""

    pause = 0.0

    def images(self, domain, indices):
        time.sleep(self.pause)
        return super().images(domain, indices)


def specs(count):
    return [
        RunSpec.of(
            {
                "method": {"name": PAIRS[k % len(PAIRS)][0]},
                "memory": {"name": PAIRS[k % len(PAIRS)][1], "capacity": 6},
                "stream": STREAM,
                "regime": {"batch_size": 8},
                "seed": k,
            }
        )
        for k in range(count)
    ]


def use_tiny(monkeypatch):
    """For one test, the real path on a network and images that take no time; forked workers have them as well."""
    data, net = TinyData(per_class=15), seeded_net(classes=3)
    net.num_classes = 3
    monkeypatch.setattr(forking, "START", "fork")
    monkeypatch.setattr(module, "share_dataset", lambda name: data)
    nets = {"vit-mini": seeded_transformer(classes=3)}
    monkeypatch.setattr(module, "share_model", lambda model, num_classes: nets.get(model.name, net))


def patch(pause=0.0):
    """Make this process run every cell on the tiny network, and so do processes, which are forked from it."""
    forking.START = "fork"
    data, net = SlowData(per_class=15), seeded_net(classes=3)
    data.pause = pause
    net.num_classes = 3
    module.share_dataset = lambda name: data
    module.share_model = lambda model, num_classes: net


def drive(root, count, jobs=2, pause=0.0, snapshot_every=0.1):
    """What a process that runs a sweep does; 1 if a cell failed."""
    patch(pause)
    work = Work(str(root), snapshot_every=snapshot_every, beat=0.5)
    failures = Sweep(Store(root, writable=True), work, Local(jobs), lambda event: None).run(specs(count))
    raise SystemExit(bool(failures))


def sweep(specs, store, jobs, threads, listen, engine=None, record=(), **more):
    """Run what the store lacks, on this machine unless another engine is given; the failures."""
    work = Work(str(store.root.resolve()), threads, record=frozenset(record), **more)
    return Sweep(store, work, engine or Local(jobs), listen).run(specs)


def driver(root, count, **more):
    process = multiprocessing.get_context("fork").Process(target=drive, args=(root, count), kwargs=more)
    process.start()
    return process


def untimed(value):
    if isinstance(value, dict):
        return {
            k: untimed(v) for k, v in value.items() if k not in ("seconds", "cpu_seconds", "peak_mb", "peak_cuda_mb")
        }
    return [untimed(item) for item in value] if isinstance(value, list) else value


def numbers(root):
    """Everything a store holds but times, by run."""
    return {
        run.id: json.dumps(untimed(plain([run.spec, run.summary, list(run.steps())])), sort_keys=True)
        for run in Store(root).runs()
    }


def recordings(root):
    """What a store recorded, by run."""
    return {path.stem: path.read_bytes() for path in (root / "records").glob("*")}


def completions(root):
    """How often each cell was run to its end."""
    return Counter(line["id"] for line in Leases(root).history() if line["event"] == "finished")


def leftovers(root):
    """What a finished sweep should not leave behind."""
    there = [*root.glob("leases/*"), *root.glob("snapshots/*"), *root.glob("runs/.*")]
    return sorted(path.name for path in there if path.name != "log.jsonl")
