"""The empty method under three names: nothing is trained, statistics and a prior are all there is."""

from torch import nn

from gotta.errors import NoEffect
from gotta.methods.method import Method, methods
from gotta.statistics import Batch, Class, Running
from gotta.statistics.normalization import has_batch_norm


@methods.register("source")
class Source(Method):
    """No adaptation: evaluation mode, the source's own statistics. A memory has no effect."""

    uses_memory = False


@methods.register("norm")
class Norm(Method):
    """Without a memory: the statistics of each test batch. With one: running statistics that only the memory moves."""

    native = Batch(follow=0.1)  # as published: unused by predictions, but there when somebody switches to running ones
    paired = Running(fed_by="memory", rate=0.05)

    def check(self, model: nn.Module) -> None:
        if not has_batch_norm(model):
            raise NoEffect(
                "method 'norm' re-estimates the statistics of BatchNorm layers, and this model has none, so it would "
                "equal 'source'. Use a method that trains parameters, such as 'tent'."
            )


@methods.register("deskew")
class Deskew(Method):
    """Class statistics in every BatchNorm layer and the patient prior on top. A memory has no effect.

    The prior uses that successive samples often share their class, and switches itself off where they do not.
    """

    native = paired = Class()
    native_prior = "patient"
    uses_memory = False

    @property
    def notes(self) -> list[str]:
        if has_batch_norm(self.model):
            return []
        left = "its prior alone: nothing in it adapts" if self.prior.is_used else "the network as it is"
        return [f"this model has no BatchNorm layers, so deskew is {left}."]
