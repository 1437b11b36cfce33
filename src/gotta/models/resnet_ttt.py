"""The CIFAR ResNet of Test-Time Training (Sun et al., 2020), BatchNorm and ReLU first; key names as in its release."""

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.resnet import conv3x3

HALF = Input(32, *PREPROCESSING["half"])


class Block(nn.Module):
    """Two convolutions around a shortcut that averages over its stride and appends channels of zeros."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(inputs), conv3x3(inputs, outputs, stride)
        self.bn2, self.conv2 = nn.BatchNorm2d(outputs), conv3x3(outputs, outputs)
        self.stride, self.new = stride, outputs - inputs

    def shortcut(self, x: Tensor) -> Tensor:
        return F.pad(F.avg_pool2d(x, self.stride), (0, 0, 0, 0, 0, self.new)) if self.new else x

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.conv2(F.relu(self.bn2(self.conv1(F.relu(self.bn1(x))))))
        return self.shortcut(x) + out


@architectures.register("resnet26-ttt")
class ResNet26TTT(Backbone):
    """ResNet-26 for CIFAR as Test-Time Training and MEMO use it: 0.37 million parameters."""

    classifier = "fc"

    def __init__(self, num_classes: int = 10, input: Input = HALF) -> None:
        super().__init__(input, num_classes)
        self.conv1 = conv3x3(3, 16)
        self.layer1, self.layer2, self.layer3 = (
            nn.Sequential(Block(inputs, outputs, stride), *(Block(outputs, outputs, 1) for _ in range(3)))
            for inputs, outputs, stride in ((16, 16, 1), (16, 32, 2), (32, 64, 2))
        )
        self.bn, self.fc = nn.BatchNorm2d(64), nn.Linear(64, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        out = self.layer3(self.layer2(self.layer1(self.conv1(self.normalize(x)))))
        pooled: Tensor = F.relu(self.bn(out)).mean((2, 3))
        return pooled
