"""A class stays for a while: a hidden Markov filter that learns how long. `Filter` is what it shares with `ema`."""

import logging
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gotta.hidden_markov import HiddenMarkov, Weighing, make_room
from gotta.limits import require
from gotta.priors.prior import Floats, Foreseen, Prior, Starts, priors
from gotta.types import Prediction

LOG = logging.getLogger(__name__)
Order = Literal["time", "none"]


class Belief(NamedTuple):
    """What a filter knows, at each of T temperatures of the network's predictions, and which of them to believe.

    The last sample's classes and the long-run classes [T, C]; how often a class stays [T]; and the evidence [T], which
    is how well it foresaw the samples so far: the mean logarithm of their likelihood, over that without a prior.
    """

    last: Floats
    marginal: Floats
    stay: Floats
    evidence: Floats
    chosen: int = 0
    proof: float = 0.0  # that classes stay: the sum of that logarithm, within limits


class Filter(Weighing, Prior):
    """A prior that multiplies the network's probabilities, softened by a temperature, by a factor per class.

    Of several temperatures each has its own belief, and the one that foresees the samples best answers: how sure of
    itself a network may be differs from one to the other, and nobody tells. `order_in_batch="none"` takes the samples
    of a batch all at once, for batches that are not in time order.
    """

    def __init__(self, order_in_batch: Order = "time") -> None:
        require("order_in_batch", order_in_batch, Order)
        self.order_in_batch = order_in_batch

    def begin(self, classes: int) -> Belief:
        temperatures = len(self.temperatures)
        uniform = np.full((temperatures, classes), 1 / classes)
        return Belief(uniform, uniform, np.full(temperatures, self.start), np.zeros(temperatures))

    def believe(self, values: Mapping[str, Any]) -> Belief:
        belief: Belief = super().believe(values)
        if type(belief.chosen) is not int or not 0 <= belief.chosen < len(self.temperatures):
            raise ValueError("the prior believes a temperature that it does not have")
        return belief

    def follow(self, raw: Prediction, starts: Starts | None = None, counts: Tensor | None = None) -> Prediction:
        prediction = super().follow(raw, starts, counts)
        acts = self.acts(self.belief.proof)
        if acts != self.acts(0.0 if self.before is None else self.before.proof):
            LOG.debug("%s: from now on it %s", self.name, "acts" if acts else "leaves predictions as they are")
        return prediction

    def restart(self, belief: Belief) -> Belief:
        return belief._replace(last=belief.marginal.copy())

    def judge(self, logits: Tensor, belief: Belief, starts: Starts) -> tuple[Tensor, Belief]:
        factors, totals, belief = self.walk(belief, self._soften(logits), starts)
        chosen, acts, belief = self._choose(belief, np.log(totals))
        return self._weigh(logits, factors, chosen, acts), belief

    def _soften(self, logits: Tensor) -> Floats:
        """Probabilities at each temperature, [B, T, C]."""
        return (logits[:, None] / _column(self.temperatures)).softmax(2).numpy()

    def _weigh(self, logits: Tensor, factors: Floats, chosen: list[int], acts: list[bool]) -> Tensor:
        """The filter's own posterior, made as sharp as the network is: without a factor the network's prediction."""
        own, sharp = logits.log_softmax(1).numpy(), _column(self.temperatures).numpy()[chosen]
        factor = np.where(np.array(acts)[:, None], factors[np.arange(len(own)), chosen], 1.0)
        return torch.from_numpy(own + sharp * np.log(factor))

    @abstractmethod
    def walk(self, belief: Belief, probs: Floats, starts: Starts) -> tuple[Floats, Floats, Belief]:
        """Through the samples, probs[B, T, C]: the factors, how well each was foreseen [B, T], and the belief after.

        `probs` may be used up.
        """

    def at_once(self, count: int) -> int:
        """How many of the samples of a batch are one step of the filter."""
        return count if self.order_in_batch == "none" else 1

    def _choose(self, belief: Belief, foreseen: Floats) -> tuple[list[int], list[bool], Belief]:
        """Which temperature answers each sample, and whether the prior has a say in it."""
        answers: list[int] = []
        acts: list[bool] = []
        evidence, chosen, proof = belief.evidence.tolist(), belief.chosen, belief.proof
        size = self.at_once(len(foreseen))
        for seen in (foreseen if size == 1 else foreseen.reshape(-1, size, len(evidence)).mean(1)).tolist():
            answers += [chosen] * size
            acts += [self.acts(proof)] * size
            evidence, chosen, proof = self.choose(seen, evidence, chosen, proof, size)
        return answers, acts, belief._replace(evidence=np.array(evidence), chosen=chosen, proof=proof)


class OrderWarning(UserWarning):
    """Predictions lean on the order of the samples.

    >>> import warnings
    >>> import gotta
    >>> warnings.filterwarnings("ignore", category=gotta.priors.OrderWarning)
    """


@priors.register("sticky")
class Sticky(HiddenMarkov, Filter):
    """A hidden Markov filter: a class stays with probability s, or is drawn anew from the network's long-run marginal.

    Dividing by that marginal is what makes it safe: what the network says all the time does not signal a run. s is
    learned by one step of online EM per sample; it falls towards 0 on streams without runs, and the filter with it.
    A network that is too sure of its errors would overrule it, and one that is never sure would follow: a higher or a
    lower temperature then has the greater evidence.

    >>> import gotta, torch
    >>> net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(48, 10))
    >>> model = gotta.adapt(net, "source", prior=gotta.priors.Sticky())
    >>> model(torch.rand(8, 3, 4, 4)).shape
    torch.Size([8, 10])
    """

    loud = 0.9  # above it one warning is given
    _told = False

    @property
    def stickiness(self) -> float | None:
        return None if self.belief is None else float(self.belief.stay[self.belief.chosen])

    def follow(self, raw: Prediction, starts: Starts | None = None, counts: Tensor | None = None) -> Prediction:
        prediction = super().follow(raw, starts, counts)
        stay = self.stickiness
        if not self._told and stay is not None and stay > self.loud:
            self._told = True
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
            last, marginal, stay, room = last.copy(), marginal.copy(), stay.copy(), make_room(*probs.shape[1:])
            for at, begins in enumerate(starts.tolist()):
                if begins:
                    last[:] = marginal
                factors[at], totals[at] = self.advance_in_place(shares, last, marginal, stay, probs[at], room)
        return factors, totals[:, :, 0], belief._replace(last=last, marginal=marginal, stay=stay[:, 0])

    def foresee(self, streams: Sequence[Prior], parts: Sequence[Tensor]) -> Sequence[Foreseen | None]:
        """Of samples in order, whatever the number of streams is; those of a batch at once are left to each stream."""
        if self.order_in_batch == "none":
            return super().foresee(streams, parts)
        joined, sizes = torch.cat(list(parts)), [len(part) for part in parts]
        logits = joined.detach().double().cpu()
        held = [self.begin(logits.shape[1]) if one.belief is None else one.belief for one in streams]
        factors, totals, beliefs = self._walk_each(held, self._soften(logits), sizes)
        seen = np.split(np.log(totals), np.cumsum(sizes)[:-1])
        made = [self._choose(*one) for one in zip(beliefs, seen, strict=True)]
        chosen = list(chain.from_iterable(which for which, _, _ in made))
        acts = list(chain.from_iterable(act for _, act, _ in made))
        judged = self._weigh(logits, factors, chosen, acts).log_softmax(1).to(joined)
        after = [belief for _, _, belief in made]
        return [Foreseen(*found) for found in zip(parts, torch.split(judged, sizes), after, strict=True)]

    def _walk_each(
        self, beliefs: Sequence[Belief], probs: Floats, sizes: Sequence[int]
    ) -> tuple[Floats, Floats, list[Belief]]:
        """Through the samples of several streams, one stream after the other, none of which begins anew.

        In rounds: the first sample of each stream, then the second.
        """
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


@lru_cache(maxsize=64)
def _column(temperatures: tuple[float, ...]) -> Tensor:
    """[T, 1]"""
    return torch.tensor(temperatures, dtype=torch.float64)[:, None]
