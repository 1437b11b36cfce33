"""The ImageNet ResNets (He et al., 2016); key names, and except for one the place of the stride, as in torchvision."""

import torch.nn.functional as F
from torch import Tensor, nn

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.resnet import conv3x3

IMAGENET = Input(224, *PREPROCESSING["imagenet"])
CAFFE = Input(224, *PREPROCESSING["caffe"])


def conv1x1(inputs: int, outputs: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, 1, stride, bias=False)


class Residual(nn.Module):
    """What both kinds of block share: a shortcut that is projected where the shape changes."""

    expansion = 1

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.downsample = (
            nn.Sequential(conv1x1(inputs, outputs, stride), nn.BatchNorm2d(outputs))
            if stride > 1 or inputs != outputs
            else nn.Identity()
        )

    def inner(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.inner(x) + self.downsample(x))


class Basic(Residual):
    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, width, stride)
        self.conv1, self.bn1 = conv3x3(inputs, width, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv3x3(width, width), nn.BatchNorm2d(width)

    def inner(self, x: Tensor) -> Tensor:
        out: Tensor = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return out


class Bottleneck(Residual):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, 4 * width, stride)
        self.conv1, self.bn1 = conv1x1(inputs, width), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = conv3x3(width, width, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = conv1x1(width, 4 * width), nn.BatchNorm2d(4 * width)

    def inner(self, x: Tensor) -> Tensor:
        narrow = F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))))
        out: Tensor = self.bn3(self.conv3(narrow))
        return out


class FirstBottleneck(Bottleneck):
    """As first published: the stride is in the first 1x1 convolution."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__(inputs, width, stride)
        self.conv1.stride, self.conv2.stride = self.conv2.stride, self.conv1.stride


class ImageNetResNet(Backbone):
    """Any side from 32 pixels up: the mean over the last map stands for torchvision's adaptive pooling."""

    classifier = "fc"

    def __init__(
        self, block: type[Basic | Bottleneck], blocks: tuple[int, ...], num_classes: int, input: Input
    ) -> None:
        super().__init__(input, num_classes)
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        inputs = 64
        for stage, count in enumerate(blocks):
            width = 64 * 2**stage
            first = block(inputs, width, 1 if stage == 0 else 2)
            inputs = width * block.expansion
            rest = (block(inputs, width, 1) for _ in range(count - 1))
            self.add_module(f"layer{stage + 1}", nn.Sequential(first, *rest))
        self.fc = nn.Linear(inputs, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        out = F.relu(self.bn1(self.conv1(self.normalize(x))))
        out = F.max_pool2d(out, 3, 2, 1)
        for stage in ("layer1", "layer2", "layer3", "layer4"):
            out = self.get_submodule(stage)(out)
        return out.mean((2, 3))


@architectures.register("resnet18")
class ResNet18(ImageNetResNet):
    """ResNet-18 for ImageNet, torchvision's resnet18: 11.7 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = IMAGENET) -> None:
        super().__init__(Basic, (2, 2, 2, 2), num_classes, input)


@architectures.register("resnet26")
class ResNet26(ImageNetResNet):
    """ResNet-26 for ImageNet, timm's resnet26 with bottlenecks: 16 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = IMAGENET) -> None:
        super().__init__(Bottleneck, (2, 2, 2, 2), num_classes, input)


@architectures.register("resnet50")
class ResNet50(ImageNetResNet):
    """ResNet-50 for ImageNet, torchvision's resnet50: 25.6 million parameters."""

    def __init__(self, num_classes: int = 1000, input: Input = IMAGENET) -> None:
        super().__init__(Bottleneck, (3, 4, 6, 3), num_classes, input)


@architectures.register("resnet50-v1")
class ResNet50V1(ImageNetResNet):
    """ResNet-50 as first published, and as Keras has it: another place of the stride, an eps of 1e-3, no deviation."""

    def __init__(self, num_classes: int = 1000, input: Input = CAFFE) -> None:
        super().__init__(FirstBottleneck, (3, 4, 6, 3), num_classes, input)
        for module in self.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eps = 1e-3
