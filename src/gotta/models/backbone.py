"""What every network here is: images in [0, 1] go in, logits come out, and preprocessing travels with the weights."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from gotta.registry import Registry

architectures: Registry[type["Backbone"]] = Registry(
    "model", "gotta.models", lambda cls: issubclass(cls, Backbone), "a subclass of gotta.models.Backbone"
)

Colours = tuple[float, float, float]
# Means and deviations that published weights were trained with, by name.
PREPROCESSING: dict[str, tuple[Colours, Colours]] = {
    "none": ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)),
    "half": ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "caffe": ((123.68 / 255, 116.779 / 255, 103.939 / 255), (1 / 255, 1 / 255, 1 / 255)),
}


@dataclass(frozen=True)
class Input:
    """What a network expects: the side of its square images, and the mean and deviation it was trained with.

    `size`, `mean` and `std` are these three.

    >>> from gotta.models import Input
    >>> Input(size=224).std
    (1.0, 1.0, 1.0)
    """

    size: int = 32
    mean: Sequence[float] = (0.0, 0.0, 0.0)
    std: Sequence[float] = (1.0, 1.0, 1.0)


class Backbone(nn.Module):
    """A network made of `features` and a linear classifier, which normalises [0, 1] images itself.

    `input` says what images it takes, and there are `num_classes` logits.

    >>> import torch, gotta
    >>> net = gotta.models.load("resnet20")
    >>> isinstance(net, gotta.models.Backbone), net(torch.rand(2, 3, 32, 32)).shape
    (True, torch.Size([2, 10]))
    """

    classifier: str = ""  # the name of the last layer
    aliases: ClassVar[Mapping[str, str]] = {}  # parts of key names that other checkpoints spell otherwise

    def __init__(self, input: Input, num_classes: int) -> None:
        super().__init__()
        self.input, self.num_classes = input, num_classes
        # Not part of the state: foreign checkpoints lack them, and ours carry them in the metadata.
        self.register_buffer("mean", torch.tensor(input.mean).view(1, -1, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(input.std).view(1, -1, 1, 1), persistent=False)

    def normalize(self, x: Tensor) -> Tensor:
        return (x - self.mean) / self.std  # type: ignore[operator]

    def features(self, x: Tensor) -> Tensor:
        """[B, 3, H, W] in [0, 1] to [B, D]."""
        raise NotImplementedError

    def classify(self, features: Tensor) -> Tensor:
        """[B, D] to logits [B, C]."""
        logits: Tensor = self.get_submodule(self.classifier)(features)
        return logits

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))
