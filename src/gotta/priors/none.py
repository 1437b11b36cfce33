"""No prior."""

from torch import Tensor

from gotta.priors.prior import Prior, Starts, priors
from gotta.types import Prediction


@priors.register("none")
class NoPrior(Prior):
    """The network's own prediction.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", prior=gotta.priors.NoPrior())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

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
