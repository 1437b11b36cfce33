"""The CIFAR ResNets of He et al. with parameter-free shortcuts; key names as in the widely used public checkpoints."""

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures

CIFAR = Input(32, *PREPROCESSING["cifar10"])
Norm = Callable[[int], nn.Module]


def conv3x3(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)


class Block(nn.Module):
    """Two convolutions around a shortcut that subsamples and pads the channels with zeros."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: Norm) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inputs, outputs, stride), norm(outputs)
        self.conv2, self.bn2 = conv3x3(outputs, outputs), norm(outputs)
        self.stride, self.padding = stride, (outputs - inputs) // 2

    def shortcut(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            return x
        return F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.padding, self.padding))

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(out)) + self.shortcut(x))


class CifarResNet(Backbone):
    classifier = "linear"
    depth: ClassVar[int]
    groups: ClassVar[int] = 0  # of GroupNorm; without them it is BatchNorm

    def __init__(self, num_classes: int = 10, input: Input = CIFAR) -> None:
        super().__init__(input, num_classes)
        blocks = (self.depth - 2) // 6
        norm: Norm = partial(nn.GroupNorm, self.groups) if self.groups else nn.BatchNorm2d
        self.conv1, self.bn1 = conv3x3(3, 16), norm(16)
        self.layer1 = self._stage(16, 16, blocks, 1, norm)
        self.layer2 = self._stage(16, 32, blocks, 2, norm)
        self.layer3 = self._stage(32, 64, blocks, 2, norm)
        self.linear = nn.Linear(64, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)

    @staticmethod
    def _stage(inputs: int, outputs: int, blocks: int, stride: int, norm: Norm) -> nn.Sequential:
        first = Block(inputs, outputs, stride, norm)
        return nn.Sequential(first, *(Block(outputs, outputs, 1, norm) for _ in range(blocks - 1)))

    def features(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(self.normalize(x))))
        out = self.layer3(self.layer2(self.layer1(out)))
        pooled: Tensor = out.mean((2, 3))
        return pooled


@architectures.register("resnet20")
class ResNet20(CifarResNet):
    """ResNet-20 with BatchNorm: 0.27 million parameters."""

    depth = 20


@architectures.register("resnet32")
class ResNet32(CifarResNet):
    """ResNet-32 with BatchNorm: 0.46 million parameters."""

    depth = 32


@architectures.register("resnet44")
class ResNet44(CifarResNet):
    """ResNet-44 with BatchNorm: 0.66 million parameters."""

    depth = 44


@architectures.register("resnet56")
class ResNet56(CifarResNet):
    """ResNet-56 with BatchNorm: 0.85 million parameters."""

    depth = 56


@architectures.register("resnet110")
class ResNet110(CifarResNet):
    """ResNet-110 with BatchNorm: 1.73 million parameters."""

    depth = 110


@architectures.register("resnet20-gn")
class ResNet20GN(CifarResNet):
    """ResNet-20 with GroupNorm, eight groups: nothing in it depends on the batch."""

    depth = 20
    groups = 8
