"""COFA beside its published code, and what it remembers between batches."""

import pytest
import torch
from rivals import STREAM, assert_same, build, published
from torch import nn

from gotta import GottaError


@pytest.mark.parametrize(("name", "only_surer"), [("cofa", True), ("cofa_all", False)])
def test_the_published_trajectory(name, only_surer):
    model = build("cofa", only_surer=only_surer)
    probs = torch.stack([model.step(x).prediction.probs for x in STREAM])
    assert_same(probs, published(name)["probs"], 1e-5)


def test_it_does_not_matter_where_a_batch_ends():
    whole, halves = build("cofa"), build("cofa")
    expected = torch.cat([whole(x) for x in STREAM[:3]])
    got = torch.cat([halves(half) for x in STREAM[:3] for half in x.split(13)])
    torch.testing.assert_close(got, expected, atol=1e-4, rtol=1e-4)


def test_a_prediction_is_never_less_sure_than_the_networks_own():
    prediction = build("cofa").step(STREAM[0]).prediction
    surer = prediction.probs.amax(1) - prediction.raw.probs.amax(1)
    assert (surer >= 0).all()
    assert 0 < int((surer > 0).sum()) < len(surer)


def test_after_a_reset_the_first_sample_stands_alone():
    model = build("cofa", only_surer=False)
    for x in STREAM[:2]:
        model(x)
    model.reset()
    prediction = model.step(STREAM[2]).prediction
    torch.testing.assert_close(prediction.logits[0], prediction.raw.logits[0])
    assert not torch.allclose(prediction.logits[1], prediction.raw.logits[1])


def test_a_network_without_features_is_refused():
    with pytest.raises(GottaError, match="'cofa' needs features, and this model has none"):
        build("cofa", nn.Sequential(nn.Conv2d(3, 10, 16), nn.Flatten()))
