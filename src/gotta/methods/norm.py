"""Normalisation with the statistics of the target instead of the source's; no loss, no trained parameter."""

from torch import nn

from gotta.errors import NoEffect
from gotta.methods.method import Method, Statistics, methods
from gotta.methods.parts.normalization import has_batch_norm
from gotta.types import MemoryBatch


@methods.register("norm")
class Norm(Method):
    """Without a memory: the statistics of each test batch. With one: running statistics that only the memory moves."""

    native = Statistics("batch")
    paired = Statistics("running", fed_by="memory", rate=0.05)
    follow = 0.1  # as published: unused by predictions, but there when somebody switches to running statistics

    def check(self, model: nn.Module) -> None:
        if not has_batch_norm(model):
            raise NoEffect(
                "method 'norm' re-estimates the statistics of BatchNorm layers, and this model has none, so it would "
                "equal 'source'. Use a method that trains parameters, such as 'tent'."
            )

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        if self.moves_statistics and self.statistics.fed_by == "memory":
            self.feed(batch.x, batch.weight)
        return {}
