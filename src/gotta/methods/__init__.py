"""Methods: how a model adapts to the samples a memory holds. One readable file each."""

from gotta.methods import untrained as untrained  # source, norm and deskew, which nearly everybody names
from gotta.methods.description import describe
from gotta.methods.method import Method, methods
from gotta.methods.parts.losses import entropy
from gotta.methods.parts.params import train_affine, train_all

__all__ = ["Method", "describe", "entropy", "methods", "train_affine", "train_all"]
