"""CoTTA trains what its published code collects: parameters that a module calls weight or bias."""

from functools import partial

import numpy as np
import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import adapt
from gotta.errors import NoEffect
from gotta.methods import methods
from gotta.methods.parts.losses import entropy

X = torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class WithToken(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = seeded_net()
        self.token = nn.Parameter(torch.zeros(1))
        self.in_proj_weight = nn.Parameter(torch.ones(1))

    def forward(self, x):
        return self.net(x) * self.in_proj_weight + self.token


def test_only_weights_and_biases_are_trained():
    cotta = methods.build("cotta", model=WithToken())
    assert set(cotta.trained) == {f"net.{name}" for name, _ in seeded_net().named_parameters()}
    assert all(name.rpartition(".")[2] in ("weight", "bias") for name in cotta.trained)


def test_a_model_without_any_is_said_to_have_none():
    model = nn.Module()
    model.token = nn.Parameter(torch.zeros(1))
    with pytest.raises(NoEffect, match="called weight or bias"):
        methods.build("cotta", model=model)


def test_after_a_reset_recorded_draws_begin_again():
    size = sum(parameter.numel() for parameter in seeded_net().parameters())
    mask = np.random.default_rng(0).random((2, size)) < 0.5
    model = adapt(seeded_net(), "cotta", pairing="paper", lr=0.1, copies=1, draws={"restore_mask": mask})
    batches = [torch.rand(8, 3, 8, 8, generator=torch.Generator().manual_seed(seed)) for seed in range(2)]
    first = [model(x) for x in batches]
    assert model.method.turn == 2
    model.reset()
    assert model.method.turn == 0
    assert all(torch.equal(model(x), seen) for x, seen in zip(batches, first, strict=True))


def note_copy(seen, copy, x):
    seen.append(copy)
    return x


def test_at_the_threshold_the_batch_is_not_augmented():
    """As published: the average over augmented copies is for an anchor whose confidence is below it."""
    confidence = adapt(seeded_net(), "cotta", pairing="paper").step(X).diagnostics["anchor_confidence"]
    for threshold, copies in ((confidence, []), (np.nextafter(confidence, 1), [0, 1])):
        augmented = []
        turns = [partial(note_copy, augmented, copy) for copy in range(2)]
        adapt(seeded_net(), "cotta", pairing="paper", copies=2, anchor_threshold=threshold, augment=turns)(X)
        assert augmented == copies


def test_the_symmetric_loss_is_the_mean_of_both_directions():
    """At first student and teacher agree, so that either direction is the mean entropy."""
    for symmetric in (False, True):
        model = adapt(seeded_net(), "cotta", num_classes=10, anchor_threshold=0.0, symmetric=symmetric, pairing="paper")
        found = model.step(X)
        assert found.diagnostics["loss"] == pytest.approx(float(entropy(found.prediction.logits).mean()), rel=1e-5)
