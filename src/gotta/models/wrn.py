"""Wide ResNets for CIFAR (Zagoruyko and Komodakis, 2016), BatchNorm and ReLU first; key names as in RobustBench."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.resnet import conv3x3

RAW, HALF = Input(32, *PREPROCESSING["none"]), Input(32, *PREPROCESSING["half"])


class Block(nn.Module):
    """Two convolutions; where the width changes, the shortcut starts behind the first normalisation."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), conv3x3(inputs, outputs, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), conv3x3(outputs, outputs)
        self.convShortcut = None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        active = F.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(active)
        out: Tensor = shortcut + self.conv2(F.relu(self.bn2(self.conv1(active))))
        return out


def stage(inputs: int, outputs: int, blocks: int, stride: int) -> nn.Sequential:
    rest = (Block(outputs, outputs, 1) for _ in range(blocks - 1))
    return nn.Sequential(OrderedDict(layer=nn.Sequential(Block(inputs, outputs, stride), *rest)))


class WideResNet(Backbone):
    classifier = "fc"
    aliases: ClassVar[Mapping[str, str]] = {"conv_shortcut": "convShortcut"}  # AugMix's spelling

    def __init__(self, depth: int, widen: int, num_classes: int, input: Input) -> None:
        super().__init__(input, num_classes)
        blocks = (depth - 4) // 6
        self.conv1 = conv3x3(3, 16)
        self.block1 = stage(16, 16 * widen, blocks, 1)
        self.block2 = stage(16 * widen, 32 * widen, blocks, 2)
        self.block3 = stage(32 * widen, 64 * widen, blocks, 2)
        self.bn1 = nn.BatchNorm2d(64 * widen)
        self.fc = nn.Linear(64 * widen, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        out = self.block3(self.block2(self.block1(self.conv1(self.normalize(x)))))
        # The mean of everything: at 32 pixels the published pooling over 8 x 8, and other sides work too.
        return F.relu(self.bn1(out)).mean((2, 3))


@architectures.register("wrn28-10")
class WRN28x10(WideResNet):
    """WRN-28-10, RobustBench's `Standard`, which takes images as they are: 36.5 million parameters."""

    def __init__(self, num_classes: int = 10, input: Input = RAW) -> None:
        super().__init__(28, 10, num_classes, input)


@architectures.register("wrn40-2")
class WRN40x2(WideResNet):
    """WRN-40-2, as trained with AugMix on means and deviations of 0.5: 2.2 million parameters."""

    def __init__(self, num_classes: int = 10, input: Input = HALF) -> None:
        super().__init__(40, 2, num_classes, input)
