"""What every network here is: images in [0, 1] go in, logits come out, and preprocessing travels with the weights."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gotta.registry import Registry

architectures: Registry[type["Backbone"]] = Registry("model", "gotta.models")


@dataclass(frozen=True)
class Input:
    """What a network expects: the side of its square images, and the mean and deviation it was trained with."""

    size: int = 32
    mean: Sequence[float] = (0.0, 0.0, 0.0)
    std: Sequence[float] = (1.0, 1.0, 1.0)


class Backbone(nn.Module):
    """A network made of `features` and a linear `head`, which normalises [0, 1] images itself."""

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
        raise NotImplementedError

    def forward(self, x: Tensor) -> Tensor:
        return self.classify(self.features(x))
