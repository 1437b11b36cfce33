"""What a network hands to its classifier."""

import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import GottaError, adapt
from gotta.methods.parts.calls import Calls
from gotta.methods.parts.features import forward_with_features


def images(size=4):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class Split(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Flatten(), nn.Linear(192, 5)

    def features(self, x):
        return self.body(x)

    def classify(self, features):
        return self.head(features)

    def forward(self, x):
        return self.classify(self.features(x))


def test_a_network_with_features_is_asked_for_them():
    net = Split()
    output, features = forward_with_features(net, images(), Calls())
    assert torch.equal(features, images().flatten(1))
    assert torch.equal(output, net(images()))


def test_of_any_other_they_are_what_the_last_linear_layer_is_given():
    net = seeded_net()
    output, features = forward_with_features(net, images(), Calls())
    assert features.shape == (4, 16)
    assert torch.equal(net.fc(features), output)
    assert not net.fc._forward_pre_hooks


def test_a_network_without_a_linear_layer_has_none():
    net = nn.Sequential(nn.Conv2d(3, 5, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    with pytest.raises(GottaError, match="no features"):
        forward_with_features(net, images(), Calls())


def test_the_memory_can_go_by_features_of_any_network():
    model = adapt(seeded_net(), "norm", "fps", 8, 10, embedding="features")
    model(images())
    assert model.memory.peek().embedding.shape[1] == 16
