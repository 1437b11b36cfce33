"""Methods: how a model adapts to the samples a memory holds. One readable file each."""

from gotta.methods.description import describe
from gotta.methods.method import Method, Statistics, methods

__all__ = ["Method", "Statistics", "describe", "methods"]
