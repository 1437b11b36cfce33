"""The moving average of predictions as the prior."""

import numpy as np

from gotta.hidden_markov import share_of
from gotta.priors.prior import Floats, Starts, priors
from gotta.priors.sticky import Belief, Filter


@priors.register("ema")
class Ema(Filter):
    """The moving average of predictions as the prior: simple, a rival. It does not notice that a stream has no runs.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", prior=gotta.priors.Ema())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    rate, floor = 0.1, 0.03

    def walk(self, belief: Belief, probs: Floats, starts: Starts) -> tuple[Floats, Floats, Belief]:
        factors, last = np.empty_like(probs), belief.last
        rate = share_of(self.rate, self.at_once(len(probs)))
        alone = self.order_in_batch == "time"
        for part, begins in enumerate(starts.tolist()) if alone else [(slice(None), any(starts))]:
            last = belief.marginal if begins else last
            factors[part] = last + self.floor
            seen = probs[part] if alone else probs.mean(0)
            last = last + rate * (seen - last)
        return factors, np.ones(probs.shape[:2]), belief._replace(last=last)
