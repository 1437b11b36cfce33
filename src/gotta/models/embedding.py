"""Models that give features only, with a frozen head: images by a network, classes by a matrix of their embeddings."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gotta.errors import GottaError, one_error
from gotta.limits import Positive, require
from gotta.models.backbone import Backbone, Input
from gotta.models.checkpoint import read_safetensors
from gotta.models.foreign import Foreign

FEATURES = ("features", "image_features", "image_embeds")  # what networks that give a dict call them
CLASSIFIER = "classifier"  # the name of a head: the rows of the network's own last layer


class Head(nn.Module):
    """Class embeddings [C, D]. With a scale the logits are so many times the cosine, else the inner product.

    They are not parameters, so no method can train them.
    """

    def __init__(self, weight: Tensor, scale: float | None) -> None:
        super().__init__()
        self.register_buffer("weight", weight if scale is None else F.normalize(weight, dim=1))
        self.scale = scale

    weight: Tensor

    def forward(self, features: Tensor) -> Tensor:
        features = features.to(self.weight)
        if self.scale is None:
            return F.linear(features, self.weight)
        return self.scale * F.linear(F.normalize(features, dim=1), self.weight)


class Embedding(Backbone):
    """A network that gives features, and a head. The features are what the network gives (`encode_image`, if it has
    that) where it is as wide as the head, else what it hands to its last layer.

    `model` gives features, `head` is [C, D] or something that has such a weight, and with `scale` the logits are so
    many times the cosine.

    >>> import torch
    >>> from gotta.models import Embedding
    >>> Embedding(torch.nn.Linear(6, 4), head=torch.rand(3, 4), scale=100.0)(torch.rand(2, 6)).shape
    torch.Size([2, 3])
    """

    classifier = "head"

    def __init__(self, model: nn.Module, head: Any, scale: float | None = None) -> None:
        weight = check_head(head, scale)
        super().__init__(model.input if isinstance(model, Backbone) else Input(), len(weight))
        self.model, self.head = model, Head(weight, scale)
        self.from_inside = False  # whether the features are those before the last layer, as far as is known

    def features(self, x: Tensor) -> Tensor:
        width, given = self.head.weight.shape[1], None
        if not self.from_inside:
            given = self.give(x)
            if given.ndim == 2 and given.shape[1] == width:
                return given
        if isinstance(self.model, Backbone) and self.model.classifier:
            inside = self.model.features(x)
            if inside.shape[1] == width:
                self.from_inside = True
                return inside
        got = None if given is None else list(given.shape)
        raise GottaError(f"the model gives {got}. Expected features [B, {width}], as wide as the head's embeddings.")

    def give(self, x: Tensor) -> Tensor:
        """What the network itself makes of images."""
        network: Any = self.model
        if isinstance(network, Foreign):
            network, x = network.model, network.normalize(x)
        output = getattr(network, "encode_image", network)(x)
        if isinstance(output, dict):
            output = next((output[name] for name in FEATURES if name in output), None)
        elif isinstance(output, tuple | list):
            output = output[0]
        if not isinstance(output, Tensor):
            expected = f"a tensor [B, D], a tuple that begins with one, or a dict with {' or '.join(FEATURES)}"
            raise GottaError(f"the model gives no features. Expected {expected}.")
        return output


def check_head(head: Any, scale: float | None) -> Tensor:
    """Class embeddings as a tensor of their own."""
    with one_error("head must be a matrix of class embeddings [C, D]"):
        weight = torch.as_tensor(head).detach().clone()
    if weight.ndim != 2 or not weight.is_floating_point() or not len(weight) or not weight.isfinite().all():
        told = "head must be a matrix of finite numbers, a class embedding [D] in each row"
        raise GottaError(f"{told} (got {list(weight.shape)} of {weight.dtype}).")
    require("scale", scale, Positive | None)
    return weight


def read_head(name: str, path: Path, model: Backbone) -> Tensor:
    """The class embeddings of a file with one matrix in it, or those of the network's own last layer."""
    if name == CLASSIFIER:
        last = model.get_submodule(model.classifier) if model.classifier else None
        if not isinstance(last, nn.Linear):
            raise GottaError("head='classifier' takes the rows of the network's last layer, and it has no linear one.")
        return last.weight.detach()
    if not path.is_file():
        raise GottaError(f"no class embeddings at {path}. Expected a .safetensors file with a matrix.")
    found = {key: value for key, value in read_safetensors(path)[1].items() if value.ndim == 2}
    if len(found) != 1:
        raise GottaError(f"{path} holds {len(found)} matrices. Expected one, with a row for each class.")
    return next(iter(found.values()))


def check_names(head: str | None, scale: float | None) -> None:
    """Complain of what cannot be meant, without reading anything."""
    if head is None and scale is not None:
        raise GottaError(f"scale={scale} is for a head of class embeddings, and there is none. Give head=FILE.")
    require("scale", scale, Positive | None)
    if head is not None and head != CLASSIFIER and not head.endswith(".safetensors"):
        expected = (
            f"a .safetensors file of class embeddings, or '{CLASSIFIER}' for the rows of the network's last layer"
        )
        raise GottaError(f"head='{head}' is not a head. Expected {expected}.")
