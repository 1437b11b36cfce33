"""Priors that multiply the network's probabilities by a factor per class, at several temperatures."""

import logging
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gotta.errors import unknown
from gotta.hidden_markov import Weighing
from gotta.priors.prior import Floats, Prior, Starts
from gotta.types import Prediction

LOG = logging.getLogger(__name__)
ORDERS = ("time", "none")


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

    def __init__(self, order_in_batch: Literal["time", "none"] = "time") -> None:
        if order_in_batch not in ORDERS:
            raise unknown("order_in_batch", order_in_batch, ORDERS)
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
        own = logits.log_softmax(1).numpy()
        softened = (logits[:, None] / torch.tensor(self.temperatures, dtype=logits.dtype)[:, None]).softmax(2)
        factors, totals, belief = self.walk(belief, softened.numpy(), starts)  # [B, T, C], [B, T]
        chosen, acts, belief = self._choose(belief, np.log(totals))
        factor = np.where(np.array(acts)[:, None], factors[np.arange(len(own)), chosen], 1.0)
        sharp = np.array(self.temperatures)[chosen, None]
        # The filter's own posterior, made as sharp as the network is: without a factor it is the network's prediction.
        return torch.from_numpy(own + sharp * np.log(factor)), belief

    @abstractmethod
    def walk(self, belief: Belief, probs: Floats, starts: Starts) -> tuple[Floats, Floats, Belief]:
        """Through the samples, probs[B, T, C]: the factors, how well each was foreseen [B, T], and the belief after."""

    def at_once(self, count: int) -> int:
        """How many of the samples of a batch are one step of the filter."""
        return count if self.order_in_batch == "none" else 1

    def groups(self, starts: Starts) -> Iterable[tuple[int | slice, bool]]:
        """The steps through a batch, each of a sample or of all, and whether something new begins there."""
        return enumerate(starts.tolist()) if self.order_in_batch == "time" else [(slice(len(starts)), any(starts))]

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
