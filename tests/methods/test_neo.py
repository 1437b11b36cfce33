"""NEO against its formula, written out."""

import pytest
import torch
from rivals import STREAM, build
from torch import nn

from gotta import GottaError


def test_it_is_the_formula():
    model, seen = build("neo"), []
    for x in STREAM[:3]:
        found = model.step(x).prediction
        seen.append(found.raw.features)
        centre = torch.cat(seen).mean(0)
        expected = model.method.predictor.fc(found.raw.features - centre)
        torch.testing.assert_close(found.logits, expected, atol=1e-4, rtol=1e-4)
        assert not torch.allclose(found.logits, found.raw.logits)


def test_a_reset_forgets_the_centre_and_asking_moves_nothing():
    model = build("neo")
    first = model(STREAM[0])
    model.method.predict(STREAM[1])
    assert model.method.seen == len(STREAM[0])
    model.reset()
    torch.testing.assert_close(model(STREAM[0]), first)


def test_a_model_without_features_is_refused():
    with pytest.raises(GottaError, match="'neo' needs features, and this model has none"):
        build("neo", nn.Sequential(nn.Conv2d(3, 10, 16), nn.Flatten()))
