"""ResNet-18 for small images: the blocks and key names of the original, a quarter of its width, a 3 x 3 stem."""

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import Backbone, Input, architectures

SMALL = Input(32, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
WIDTHS = (16, 32, 64, 128)


def conv(inputs: int, outputs: int, side: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, side, stride, side // 2, bias=False)


class BasicBlock(nn.Module):
    """Two convolutions around a shortcut, which is a 1 x 1 convolution where the size changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, outputs, 3, stride), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = conv(outputs, outputs, 3), nn.BatchNorm2d(outputs)
        changes = stride > 1 or inputs != outputs
        projection = nn.Sequential(conv(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)) if changes else None
        self.downsample = projection

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        shortcut = x if self.downsample is None else self.downsample(x)
        return F.relu(self.bn2(self.conv2(out)) + shortcut)


@architectures.register("resnet18-small")
class ResNet18Small(Backbone):
    """ResNet-18 at a quarter of its width, for images of about 32 pixels: 0.70 million parameters."""

    def __init__(self, num_classes: int = 10, input: Input = SMALL) -> None:
        super().__init__(input, num_classes)
        self.conv1, self.bn1 = conv(3, WIDTHS[0], 3), nn.BatchNorm2d(WIDTHS[0])
        self.layer1 = self._stage(WIDTHS[0], WIDTHS[0], 1)
        self.layer2 = self._stage(WIDTHS[0], WIDTHS[1], 2)
        self.layer3 = self._stage(WIDTHS[1], WIDTHS[2], 2)
        self.layer4 = self._stage(WIDTHS[2], WIDTHS[3], 2)
        self.fc = nn.Linear(WIDTHS[3], num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        return nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))

    def features(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(self.normalize(x))))
        out = self.layer4(self.layer3(self.layer2(self.layer1(out))))
        pooled: Tensor = out.mean((2, 3))
        return pooled

    def classify(self, features: Tensor) -> Tensor:
        logits: Tensor = self.fc(features)
        return logits
