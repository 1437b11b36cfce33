"""A folder like the one a reader works in, and small sizes, for running what the pages show."""

import sys
from functools import partial
from multiprocessing import get_context

import pytest
from made_store import many_runs, write

import gotta
from gotta.checks.memory import run as run_checks
from gotta.checks.parts import KINDS
from gotta.experiment.recipe.estimate import Estimate
from gotta.processor import Bfloat16
from gotta.workflow.bench_plan import Plan

SMALL = {"stream.per_class": 1, "stream.domains": ["snow"]}
POLICY = """
from dataclasses import dataclass
from gotta.memory import REJECT, Decision, Policy

@dataclass(frozen=True)
class MyPolicy(Policy):
    def place(self, table, new, rng):
        return Decision(REJECT, "full") if table.full else Decision(table.free(), "room")
"""
NETS = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    layers = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10)
    return nn.Sequential(*layers).eval()

build_model = build
"""


@pytest.fixture
def workshop(tmp_path, monkeypatch):
    """A folder like the one a reader works in: modules of their own, images, and finished runs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("gotta.experiment.sweep.store._check_name", lambda *given: None)
    for name in ("data", "CIFAR-10-C"):
        (tmp_path / name).mkdir()
    (tmp_path / "mine.py").write_text(POLICY)
    (tmp_path / "my.py").write_text("from gotta.methods.tent import Tent as Method\n")
    for name in ("my_nets", "my_module"):
        (tmp_path / f"{name}.py").write_text(NETS)
    for name in ("mini", "other"):
        write(tmp_path / "runs" / name, many_runs(seeds=(0,)))
    before = set(sys.modules)
    for registry in KINDS.values():
        registry.names()
        monkeypatch.setattr(registry, "_items", dict(registry._items))
        monkeypatch.setattr(registry, "_permitted", {})
    yield tmp_path
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]  # of the page; libraries must stay whole


@pytest.fixture
def quick(monkeypatch):
    """Few images and examples, one process or forked ones, no timing of networks, no child that tries the processor."""
    real_plan, real_run, real_work = gotta.plan, gotta.run, Plan.run

    def plan(*recipe, settings=None, **more):
        return real_plan(*recipe, settings={**(settings or {}), **SMALL}, **more)

    def run(spec, **more):
        return real_run({**spec, **SMALL} if isinstance(spec, dict) else spec, **more)

    def work(self, jobs=1, *more, **named):
        return real_work(self, 1, *more, **named)

    monkeypatch.setattr(gotta, "plan", plan, raising=False)
    monkeypatch.setattr(gotta, "run", run, raising=False)
    monkeypatch.setattr(Plan, "run", work)
    monkeypatch.setattr("gotta.experiment.recipe.estimate.estimate", lambda *given: Estimate(60.0, 1))
    monkeypatch.setattr("gotta.doctor.probe_bfloat16", Bfloat16)
    monkeypatch.setattr("gotta.doctor.STEP", 2)
    monkeypatch.setattr("gotta.workers.get_context", lambda _: get_context("fork"))  # spawned ones would import torch
    monkeypatch.setattr("gotta.checks.memory.run", partial(run_checks, examples=5))
