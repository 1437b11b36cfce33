"""A class stays for a while: a hidden Markov filter that learns how long."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor

from gotta.hidden_markov import HiddenMarkov, Room
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
        shares = self.shares(probs.shape[2], self.at_once(len(probs)))
        if self.order_in_batch == "none":
            last = marginal if starts.any() else last
            factors[:], totals[:], last, marginal, stay = self.advance(
                shares, last, marginal, stay, probs, together=True
            )
        else:
            last, marginal, stay, room = last.copy(), marginal.copy(), stay.copy(), Room.of(*probs.shape[1:])
            for at, begins in enumerate(starts.tolist()):
                if begins:
                    last[:] = marginal
                factors[at], totals[at] = self.advance_in_place(shares, last, marginal, stay, probs[at], room)
        return factors, totals[:, :, 0], belief._replace(last=last, marginal=marginal, stay=stay[:, 0])

    def walk_each(
        self, beliefs: Sequence[Belief], probs: Floats, sizes: Sequence[int]
    ) -> tuple[Floats, Floats, list[Belief]]:
        """In rounds: the first sample of each stream, then the second."""
        if self.order_in_batch == "none":
            return super().walk_each(beliefs, probs, sizes)
        last, marginal, stay = (np.stack(part) for part in list(zip(*beliefs, strict=True))[:3])
        stay, shares = stay[:, :, None], self.shares(probs.shape[2])
        ends = np.cumsum(sizes)
        factors, totals = np.empty_like(probs), np.empty((*probs.shape[:2], 1))
        for turn in range(max(sizes)):
            now = np.flatnonzero(np.array(sizes) > turn)
            at = ends[now] - np.array(sizes)[now] + turn
            factors[at], totals[at], last[now], marginal[now], stay[now] = self.advance(
                shares, last[now], marginal[now], stay[now], probs[at]
            )
        parts = zip(beliefs, last, marginal, stay[:, :, 0], strict=True)
        after = [
            belief._replace(last=one.copy(), marginal=long.copy(), stay=how_often.copy())
            for belief, one, long, how_often in parts
        ]
        return factors, totals[:, :, 0], after
