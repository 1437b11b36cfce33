"""Deskew: take the class skew out of the statistics, and put it back into the prediction. No loss, no stored sample."""

from gotta.methods.method import Method, Statistics, methods
from gotta.methods.parts.normalization import has_batch_norm


@methods.register("deskew")
class Deskew(Method):
    """Class statistics in every BatchNorm layer and the patient prior on top. A memory has no effect.

    The prior uses that successive samples often share their class, and switches itself off where they do not.
    """

    native = Statistics("class")
    paired = Statistics("class")
    native_prior = "patient"
    uses_memory = False

    @property
    def notes(self) -> list[str]:
        if has_batch_norm(self.model):
            return []
        left = (
            "the network as it is" if self.following.prior.name == "none" else "its prior alone: nothing in it adapts"
        )
        return [f"this model has no BatchNorm layers, so deskew is {left}."]
