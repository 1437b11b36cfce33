"""A class stays for a while: a hidden Markov filter that learns how long."""

import warnings
from typing import Any

import numpy as np
from torch import Tensor

from gotta.priors.filters import Belief, Filter, average, share_of
from gotta.priors.prior import Floats, Starts, priors
from gotta.types import Prediction


class OrderWarning(UserWarning):
    """Predictions lean on the order of the samples."""


@priors.register("sticky")
class Sticky(Filter):
    """A hidden Markov filter: a class stays with probability s, or is drawn anew from the network's long-run marginal.

    Dividing by that marginal is what makes it safe: what the network says all the time is no sign of a run. s is
    learned by one step of online EM per sample; it falls towards 0 on streams without runs, and the filter with it.
    A network that is too sure of its errors would overrule it, and one that is never sure would follow: a higher or a
    lower temperature then has the greater evidence.
    """

    start = 0.5
    temperatures = (1.5, 3.0, 0.5)
    learn, slow = 0.02, 0.005  # shares of one sample in s and in the marginal
    least, most = 0.02, 0.99  # of s; without the first, thousands of samples would be needed to come back
    least_marginal = 1e-3  # of a class, times the number of classes
    bar = 2.0  # that is, classes that stay explain the samples seven times as well
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
                "the score is no accuracy. prior='none' switches it off.",
                OrderWarning,
                stacklevel=2,
            )
        return prediction

    def walk(self, belief: Belief, probs: Floats, starts: Starts) -> tuple[Floats, Floats, Belief]:
        last, marginal, stay = belief.last, belief.marginal, belief.stay[:, None]  # [T, C], [T, C], [T, 1]
        factors, totals = np.empty_like(probs), np.empty((*probs.shape[:2], 1))
        # Arrays, with which numpy is twice as fast as with numbers.
        least, most, one = (np.full_like(stay, value) for value in (self.least, self.most, 1.0))
        size = self.at_once(len(probs))
        learn, slow = (np.full_like(stay, share_of(share, size)) for share in (self.learn, self.slow))
        floor = np.full_like(marginal, self.least_marginal / probs.shape[2])
        for part, begins in self.groups(starts):
            now = probs[part]  # [T, C], or [B, T, C]
            anew = one - stay
            factor = stay * (marginal if begins else last) / marginal + anew
            joint = now * factor
            total = np.add.reduce(joint, -1, keepdims=True)
            factors[part], totals[part] = factor, total
            marginal = np.maximum(floor, marginal + self.pace(anew, slow) * (average(now) - marginal))
            marginal /= np.add.reduce(marginal, 1, keepdims=True)
            stay = stay + learn * anew * (one - average(one / total))  # towards the probability that the class stayed
            stay = np.minimum(most, np.maximum(least, stay))
            last = average(joint / total)
        return factors, totals[:, :, 0], belief._replace(last=last, marginal=marginal, stay=stay[:, 0])

    def pace(self, anew: Floats, slow: Floats) -> Floats:
        """How far the marginal moves: [T, 1], as are the probability of a new class and the usual pace."""
        return slow
