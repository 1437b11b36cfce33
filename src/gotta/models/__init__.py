"""Networks that take [0, 1] images: `load("resnet20")`, or an architecture with a checkpoint's path."""

from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.embedding import Embedding
from gotta.models.zoo import bundled, load, record

__all__ = ["PREPROCESSING", "Backbone", "Embedding", "Input", "architectures", "bundled", "load", "record"]
