"""A recipe of few cells on few bundled images, as an object."""

RECIPE = {
    "title": "Two methods, two memories: small!",
    "paper": "table 9",
    "base": {"stream": {"per_class": 1, "domains": ["snow"]}, "memory": {"capacity": 8}},
    "seeds": [0, 1],
    "cells": [
        {"method": ["source"]},
        {"method": ["norm"], "memory": ["none", "fps"], "control": ["same_samples"]},
        {"method": ["tent"], "memory": ["fps"], "axes": {"memory.epsilon": [0.1, 0.2], "memory.capacity": [4, 8]}},
    ],
}
ONE = {**RECIPE, "seeds": [0], "cells": [{"method": ["norm"], "memory": ["fps"]}]}
BAD = '''
from dataclasses import dataclass

from gotta.memory import Policy


@dataclass(frozen=True)
class Bad(Policy):
    """Raises."""

    def place(self, table, new, rng):
        raise ValueError("mine")
'''
NET = '''
from torch import nn


class Flat(nn.Module):
    """Flattens its maps with view, as many networks do."""

    def __init__(self, num_classes):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3, stride=2), nn.BatchNorm2d(4)
        self.last = nn.Linear(4 * 15 * 15, num_classes)

    def forward(self, x):
        x = self.norm(self.conv(x)).relu()
        return self.last(x.view(len(x), -1))


def build(num_classes=10):
    return Flat(num_classes)


def other():
    return Flat(3)
'''
