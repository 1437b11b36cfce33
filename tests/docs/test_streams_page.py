"""docs/streams.md: its numbers are measured, and it names every order, schedule and protocol."""

import re
from pathlib import Path

import numpy as np
import pytest

from gotta.experiment.recipe.protocol import protocols
from gotta.streams import ORDERS, SCHEDULES, class_runs
from gotta.streams.order import dirichlet, iid

PAGE = (Path(__file__).parents[2] / "docs" / "streams.md").read_text(encoding="utf-8")
LABELS = np.tile(np.arange(10), 100)  # 100 images of each class
SEEDS, BATCH = 20, 64


def measure(gamma):
    """The mean length of class runs, and the mean share of the most frequent class in a batch, in percent."""
    runs, shares = [], []
    for seed in range(SEEDS):
        rng = np.random.RandomState(seed)
        label = LABELS[iid(LABELS, rng) if gamma is None else dirichlet(LABELS, gamma, rng)]
        runs.append(class_runs(label).mean())
        whole = label[: len(label) - len(label) % BATCH].reshape(-1, BATCH)
        shares.append(np.mean([np.bincount(batch).max() / BATCH for batch in whole]))
    return f"{np.mean(runs):.1f}", f"{100 * np.mean(shares):.0f} %"


@pytest.mark.parametrize("gamma", [0.01, 0.1, 1.0, 10.0, 100.0, 10000.0, None])
def test_that_a_dirichlet_order_never_becomes_iid_is_measured(gamma):
    name = "true i.i.d." if gamma is None else f"{gamma:g}"
    row = re.search(rf"^\| {re.escape(name)} \| (\S+) \| (.+?) \|$", PAGE, re.MULTILINE)
    assert row, name
    assert row.groups() == measure(gamma)


def test_every_order_schedule_and_protocol_is_named():
    for name in (*ORDERS.names(), *SCHEDULES.names(), *protocols()):
        assert f"`{name}`" in PAGE, name
