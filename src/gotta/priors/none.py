"""No prior."""

from torch import Tensor

from gotta.priors.prior import Prior, Starts, priors
from gotta.types import Prediction


@priors.register("none")
class NoPrior(Prior):
    """The network's own prediction."""

    name = "none"

    @property
    def is_used(self) -> bool:
        return False

    def follow(self, raw: Prediction, starts: Starts | None = None, counts: Tensor | None = None) -> Prediction:
        return raw

    def look(self, raw: Prediction, starts: Starts | None = None, again: bool = False) -> Prediction:
        return raw

    def describe(self) -> list[str]:
        return []
