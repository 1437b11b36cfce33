"""What a run tells of itself while it goes on."""

from itertools import accumulate

import pytest
from experiment import tiny_sweep

from gotta.experiment.run.run import run
from gotta.experiment.run.scoring import latency


def test_the_accuracy_that_is_told_is_that_of_all_samples_so_far(monkeypatch):
    tiny_sweep.use_tiny(monkeypatch)
    told = []
    steps, _ = run(tiny_sweep.specs(1)[0], lambda step, steps, accuracy: told.append(accuracy))
    right = list(accumulate(step["correct"] for step in steps))
    seen = list(accumulate(step["samples"] for step in steps))
    assert told == pytest.approx([100 * a / b for a, b in zip(right, seen, strict=True)])
    assert len(set(told)) > 3


def test_latency_is_by_rank_and_leaves_out_the_first_step():
    steps = [{"cost": {"predict": {"seconds": 9.0}}}]
    steps += [{"cost": {"predict": {"seconds": k}, "adapt": {"seconds": 100.0}}} for k in range(1, 201)]
    assert latency(steps) == {"answer": (100, 198), "step": (200.0, 298.0)}
