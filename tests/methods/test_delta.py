"""DELTA beside its published code."""

import pytest
import torch
from rivals import STREAM, assert_same, assert_same_parameters, build, published, run
from tiny import seeded_net


@pytest.mark.parametrize(("name", "settings"), [("delta", {}), ("delta_tent", {"weighting": False})])
def test_the_published_trajectory(name, settings):
    recorded, model = published(name), build("delta", quirks="published", **settings)
    logits, _ = run(model)
    assert_same(logits, recorded["logits"], 5e-4)
    assert_same(model.method.frequency, recorded["frequency"], 1e-5)
    assert_same_parameters(model, recorded, 5e-5)


def test_without_the_quirk_it_begins_with_the_sources_statistics():
    x = STREAM[0]
    torch.testing.assert_close(build("delta").step(x).prediction.logits, build("source")(x))
    torch.testing.assert_close(build("delta", quirks="published")(x), build("norm")(x), atol=1e-4, rtol=1e-4)


def test_what_it_trains_on_is_normalised_as_what_it_predicts():
    model, x = build("delta", seeded_net()), STREAM[0][:, :, :8, :8]
    expected = model.model(x)
    torch.testing.assert_close(model.method.training_logits(x).detach(), expected, atol=1e-5, rtol=1e-4)
    mean = model.model.conv1(x).mean((0, 2, 3))
    torch.testing.assert_close(model.model.bn1.running_mean, 0.05 * mean)


def test_classes_that_are_rarely_predicted_weigh_more():
    method = build("delta").method
    logits = 9 * torch.eye(3)[[0, 0, 0, 1]]
    assert method.weigh(logits).tolist() == pytest.approx([1, 1, 1, 1])
    weight = method.weigh(logits)
    assert weight[3] > weight[0]
    assert weight.mean() == pytest.approx(1)
