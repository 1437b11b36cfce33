"""A class stays for a while: a hidden Markov filter that learns how long."""

import warnings
from typing import Any

import numpy as np
from torch import Tensor

from gotta.hidden_markov import HiddenMarkov
from gotta.priors.filters import Belief, Filter
from gotta.priors.prior import Floats, Starts, priors
from gotta.types import Prediction


class OrderWarning(UserWarning):
    """Predictions lean on the order of the samples."""


@priors.register("sticky")
class Sticky(HiddenMarkov, Filter):
    """A hidden Markov filter: a class stays with probability s, or is drawn anew from the network's long-run marginal.

    Dividing by that marginal is what makes it safe: what the network says all the time does not signal a run. s is
    learned by one step of online EM per sample; it falls towards 0 on streams without runs, and the filter with it.
    A network that is too sure of its errors would overrule it, and one that is never sure would follow: a higher or a
    lower temperature then has the greater evidence.
    """

    loud = 0.9  # above it one warning is given

    def __init__(self, order_in_batch: Any = "time") -> None:
        super().__init__(order_in_batch)
        self.told = False

    @property
    def stickiness(self) -> float | None:
        return None if self.belief is None else float(self.belief.stay[self.belief.chosen])

    def follow(self, raw: Prediction, starts: Starts | None = None, counts: Tensor | None = None) -> Prediction:
        prediction = super().follow(raw, starts, counts)
        stay = self.stickiness
        if not self.told and stay is not None and stay > self.loud:
            self.told = True
            warnings.warn(
                f"successive samples share their class so often (stickiness {stay:.2f}) that predictions "
                "lean on the order of the samples. Right for video and other streams; on a test set sorted by class "
                "it inflates the score. prior='none' switches it off.",
                OrderWarning,
                stacklevel=2,
            )
        return prediction

    def walk(self, belief: Belief, probs: Floats, starts: Starts) -> tuple[Floats, Floats, Belief]:
        last, marginal, stay = belief.last, belief.marginal, belief.stay[:, None]  # [T, C], [T, C], [T, 1]
        factors, totals = np.empty_like(probs), np.empty((*probs.shape[:2], 1))
        shares, together = self.shares(probs.shape[2], self.at_once(len(probs))), self.order_in_batch == "none"
        for part, begins in self.groups(starts):  # a part is [T, C], or [B, T, C]
            last = marginal if begins else last
            factors[part], totals[part], last, marginal, stay = self.advance(
                shares, last, marginal, stay, probs[part], together
            )
        return factors, totals[:, :, 0], belief._replace(last=last, marginal=marginal, stay=stay[:, 0])
