"""Whole trajectories of the authors' own implementations."""

import json

import numpy as np
import pytest
import torch
from tiny import GOLDEN, golden_net

from gotta import adapt

COMMON = np.load(GOLDEN / "methods" / "common.npz")
TOLERANCES = json.loads((GOLDEN / "tolerances.json").read_text())


def trajectory(name, **settings):
    """Our logits over the golden stream, the recorded ones, and the adapted model at the end."""
    recorded = np.load(GOLDEN / "methods" / f"{name}.npz")
    model = adapt(golden_net(COMMON), num_classes=10, **settings)
    batches = torch.from_numpy(COMMON["stream_u8"]).float() / 255
    assert batches.shape == (20, 32, 3, 16, 16)
    logits = torch.stack([model(x) for x in batches]).numpy()
    return logits, recorded, model


def test_source_gives_the_recorded_logits():
    logits, recorded, _ = trajectory("source", method="source")
    np.testing.assert_allclose(logits, recorded["logits"], atol=1e-4)


def test_norm_gives_the_recorded_logits_and_statistics():
    logits, recorded, model = trajectory("norm", method="norm")
    np.testing.assert_allclose(logits, recorded["logits"], atol=1e-4)
    state = model.model.state_dict()
    names = [name for name in recorded.files if name.startswith("buffers.") and "num_batches" not in name]
    assert len(names) == 4
    for name in names:
        np.testing.assert_allclose(state[name[len("buffers.") :]], recorded[name][-1], atol=1e-5)


def test_tent_gives_the_recorded_logits_and_parameters():
    logits, recorded, model = trajectory("tent", method="tent")
    np.testing.assert_allclose(logits, recorded["logits"], atol=1e-4)
    names = [name for name in recorded.files if name.startswith("final.")]
    assert len(names) == 4
    for name in names:
        got = model.model.get_parameter(name[len("final.") :]).detach()
        np.testing.assert_allclose(got, recorded[name], atol=2e-5)


def test_tent_reports_the_recorded_losses():
    recorded = np.load(GOLDEN / "methods" / "tent.npz")
    model = adapt(golden_net(COMMON), num_classes=10, method="tent")
    losses = [model.step(x).diagnostics["loss"] for x in torch.from_numpy(COMMON["stream_u8"]).float() / 255]
    np.testing.assert_allclose(losses, recorded["losses"], atol=1e-5)


@pytest.mark.parametrize("memory", ["fifo", "none"])
def test_a_fifo_of_one_batch_is_the_batch(memory):
    """With capacity = batch size the memory holds just the batch, so TENT must not notice it."""
    capacity = 32 if memory == "fifo" else None
    logits, recorded, _ = trajectory("tent", method="tent", memory=memory, capacity=capacity)
    np.testing.assert_allclose(logits, recorded["logits"], atol=2e-4)
