"""Networks that take [0, 1] images: `load("resnet20")`, or a checkpoint's path."""

from gotta.models.backbone import Backbone, Input, architectures
from gotta.models.zoo import bundled, load, record

__all__ = ["Backbone", "Input", "architectures", "bundled", "load", "record"]
