"""The ImageNet ResNets (He et al., 2016); key names, and except for one the place of the stride, as in torchvision."""

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.resnet import conv3x3

IMAGENET = Input(224, *PREPROCESSING["imagenet"])
CAFFE = Input(224, *PREPROCESSING["caffe"])
SMALL = Input(32, (0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


def shortcut(inputs: int, outputs: int, stride: int) -> nn.Module:
    """Projects where the shape changes."""
    if stride == 1 and inputs == outputs:
        return nn.Identity()
    return nn.Sequential(conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs))


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv3x3(inputs, width, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv3x3(width, width), nn.BatchNorm2d(width)
        self.downsample = shortcut(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.downsample(x))


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = conv1x1(inputs, width), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv3x3(width, width, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv1x1(width, 4 * width), nn.BatchNorm2d(4 * width)
        self.downsample = shortcut(inputs, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        narrow = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        return F.relu(self.bn3(self.conv3(narrow)) + self.downsample(x))


class FirstBottleneck(Bottleneck):
    """As first published: the stride is in the first 1x1 convolution."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, width, stride)
        self.conv1.stride, self.conv2.stride = self.conv2.stride, self.conv1.stride


class ImageNetResNet(Backbone):
    """Any side from 32 pixels up: the mean over the last map stands for torchvision's adaptive pooling."""

    classifier = "fc"
    block: ClassVar[type[Basic | Bottleneck]] = Bottleneck
    blocks: ClassVar[tuple[int, ...]] = (2, 2, 2, 2)
    width: ClassVar[int] = 64  # of the first stage
    small_images: ClassVar[bool] = False  # of about 32 pixels: the first layers do not shrink them

    def __init__(self, num_classes: int = 1000, input: Input = IMAGENET) -> None:
        super().__init__(input, num_classes)
        self.conv1 = conv3x3(3, self.width) if self.small_images else nn.Conv2d(3, self.width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(self.width)
        inputs = self.width
        for stage, count in enumerate(self.blocks):
            width = self.width * 2**stage
            first = self.block(inputs, width, 1 if stage == 0 else 2)
            inputs = width * self.block.expansion
            rest = (self.block(inputs, width, 1) for _ in range(count - 1))
            self.add_module(f"layer{stage + 1}", nn.Sequential(first, *rest))
        self.fc = nn.Linear(inputs, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(self.normalize(x))))
        out = out if self.small_images else F.max_pool2d(out, 3, 2, 1)
        for stage in ("layer1", "layer2", "layer3", "layer4"):
            out = self.get_submodule(stage)(out)
        return out.mean((2, 3))


@architectures.register("resnet18")
class ResNet18(ImageNetResNet):
    """ResNet-18 for ImageNet, torchvision's resnet18: 11.7 million parameters."""

    block = Basic


@architectures.register("resnet26")
class ResNet26(ImageNetResNet):
    """ResNet-26 for ImageNet, timm's resnet26 with bottlenecks: 16 million parameters."""


@architectures.register("resnet50")
class ResNet50(ImageNetResNet):
    """ResNet-50 for ImageNet, torchvision's resnet50: 25.6 million parameters."""

    blocks = (3, 4, 6, 3)


@architectures.register("resnet50-v1")
class ResNet50V1(ImageNetResNet):
    """ResNet-50 as first published, and as Keras has it: another place of the stride, an eps of 1e-3, no deviation."""

    block = FirstBottleneck
    blocks = (3, 4, 6, 3)

    def __init__(self, num_classes: int = 1000, input: Input = CAFFE) -> None:
        super().__init__(num_classes, input)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eps = 1e-3


@architectures.register("resnet18-small")
class ResNet18Small(ImageNetResNet):
    """ResNet-18 at a quarter of its width and with a 3 x 3 stem, for images of about 32 pixels: 0.70 million
    parameters.
    """

    block = Basic
    width = 16
    small_images = True

    def __init__(self, num_classes: int = 10, input: Input = SMALL) -> None:
        super().__init__(num_classes, input)
