"""One trained network, and five ways to get it wrong. Each builds a model for the doctor."""

import torch
from torch import nn

from gotta.models import load


class Normalize(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean.clone())
        self.register_buffer("std", std.clone())

    def forward(self, x):
        return (x - self.mean) / self.std


class Scale(nn.Module):
    """What a BatchNorm layer with fixed statistics computes, without being one."""

    def __init__(self, norm):
        super().__init__()
        scale = norm.weight / (norm.running_var + norm.eps).sqrt()
        self.scale = nn.Parameter(scale.detach().view(-1, 1, 1))
        self.shift = nn.Parameter((norm.bias - norm.running_mean * scale).detach().view(-1, 1, 1))

    def forward(self, x):
        return x * self.scale + self.shift


def without_norms(module):
    for name, child in module.named_children():
        if isinstance(child, nn.BatchNorm2d):
            setattr(module, name, Scale(child))
        else:
            without_norms(child)
    return module


def healthy():
    return load("resnet20")


def normalised_twice():
    net = load("resnet20")
    return nn.Sequential(Normalize(net.mean, net.std), net).eval()


def not_normalised():
    net = load("resnet20")
    net.mean.zero_()
    net.std.fill_(1)
    return net


def softmax_output():
    return nn.Sequential(load("resnet20"), nn.Softmax(1)).eval()


def no_layers():
    return without_norms(load("resnet20")).eval()


def train_mode():
    return load("resnet20").train()


model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 32 * 32, 5)).eval()
number = 3


def broken():
    raise OSError("weights are gone")
