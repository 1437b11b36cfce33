"""Scores of predictions and of memories. The only part, besides streams, that sees true labels."""

from gotta.metrics.buffer import Buffer
from gotta.metrics.online import Online

__all__ = ["Buffer", "Online"]
