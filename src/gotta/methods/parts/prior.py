"""What the classes of the samples before say of the next one: `none`, `sticky`, `patient`, or `ema`.

A prior is given the network's prediction of samples in the order in which they came, and answers with another. It is
causal: a sample's answer depends on that sample and those before it. `follow` moves it; `look` only asks.
"""

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from gotta.errors import unknown
from gotta.types import Prediction

Floats = NDArray[np.float64]
ORDERS = ("time", "none")
LABELS = ("filtered", "raw")
ARRAYS = ("last", "marginal", "stay", "evidence")  # of a belief


class OrderWarning(UserWarning):
    """Predictions lean on the order of the samples."""


@dataclass(frozen=True)
class Belief:
    """What a prior knows, at each of T temperatures of the network's predictions, and the number of the one to believe.

    The last sample's classes and the long-run classes [T, C]; how often a class stays [T]; and the evidence [T], which
    is how well it foresaw the samples so far: the mean logarithm of their likelihood, over that without a prior.
    """

    last: Floats
    marginal: Floats
    stay: Floats
    evidence: Floats
    chosen: int = 0

    @classmethod
    def of_nothing(cls, temperatures: int, classes: int, stay: float) -> "Belief":
        uniform = np.full((temperatures, classes), 1 / classes)
        return cls(uniform, uniform, np.full(temperatures, stay), np.zeros(temperatures))

    def restarted(self) -> "Belief":
        """Before a sample that has nothing to do with the last one."""
        return replace(self, last=self.marginal.copy())

    def to_state(self) -> dict[str, Any]:
        return {name: torch.from_numpy(getattr(self, name)) for name in ARRAYS} | {"chosen": self.chosen}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Belief":
        """States of earlier versions are of the first temperature alone, or of two, and go on with these."""
        if "chosen" not in state:
            last, marginal = (state[name].cpu().numpy()[None] for name in ("last", "marginal"))
            return cls(last, marginal, np.array([state["stay"]]), np.zeros(1))
        last, marginal, stay, evidence = (state[name].cpu().numpy() for name in ARRAYS)
        return cls(last, marginal, stay, evidence, state["chosen"])


class Prior:
    """No prior: the network's own prediction. The others override `_judge`."""

    name: ClassVar[str] = "none"
    start: ClassVar[float] = 0.0  # how often a class is thought to stay before anything was seen

    def __init__(self, order: Literal["time", "none"] = "time") -> None:
        if order not in ORDERS:
            raise unknown("order_in_batch", order, ORDERS)
        self.order = order
        self.belief: Belief | None = None  # until the number of classes is known
        self.before: Belief | None = None  # as it was before the last batch
        self.starts: NDArray[np.bool_] | None = None  # which samples begin something new, in the step that is made now
        self.told = False

    def follow(self, raw: Prediction) -> Prediction:
        """The prediction of the next samples, which move the belief."""
        self.before = self.belief
        prediction, self.belief = self._judge(raw, self.belief)
        return prediction

    def look(self, raw: Prediction, again: bool = False) -> Prediction:
        """The same, and nothing moves. `again`: of the samples that moved it last."""
        return self._judge(raw, self.before if again else self.belief)[0]

    def boundary(self) -> None:
        """The next sample has nothing to do with the last one."""
        if self.belief is not None:
            self.belief = self.belief.restarted()

    def pass_starts(self) -> None:
        """Samples have passed that are not followed; a boundary among them counts."""
        if self.starts is not None and self.starts.any():
            self.boundary()

    @property
    def stickiness(self) -> float | None:
        """How often a class is thought to stay, where the prior has an opinion."""
        return None

    def state_dict(self) -> dict[str, Any]:
        return {
            name: belief and belief.to_state() for name, belief in (("belief", self.belief), ("before", self.before))
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.belief, self.before = (
            None if state[name] is None else Belief.from_state(state[name]) for name in ("belief", "before")
        )

    def _judge(self, raw: Prediction, belief: Belief | None) -> tuple[Prediction, Belief | None]:
        return raw, belief


class _Filter(Prior):
    """A prior that multiplies the network's probabilities, softened by a temperature, by a factor per class.

    Of several temperatures each has its own belief, and the one that foresees the samples best answers: how sure of
    itself a network may be differs from one to the other, and nobody tells.
    """

    temperatures: ClassVar[tuple[float, ...]] = (1.0,)
    weigh = 0.002  # share of one sample in the evidence
    margin = 0.1  # of evidence, by which another temperature must be better

    def _judge(self, raw: Prediction, belief: Belief | None) -> tuple[Prediction, Belief | None]:
        logits = raw.logits.detach().double().cpu()
        if belief is None:
            belief = Belief.of_nothing(len(self.temperatures), logits.shape[1], self.start)
        own = logits.log_softmax(1).numpy()
        believed = self.temperatures[: len(belief.stay)]
        tempered = torch.stack([(logits / temperature).softmax(1) for temperature in believed], 1).numpy()  # [B, T, C]
        factors, totals, belief = self.walk(belief, tempered)
        chosen, belief = self._choose(belief, np.log(totals))
        factor = factors[np.arange(len(own)), chosen]
        sharp = np.array(believed)[chosen, None]
        # The filter's own posterior, made as sharp as the network is: without a factor it is the network's prediction.
        out = torch.from_numpy(own + sharp * np.log(factor)).log_softmax(1).to(raw.logits)
        return Prediction(out, raw.features, raw.embed, raw), belief

    @abstractmethod
    def walk(self, belief: Belief, probs: Floats) -> tuple[Floats, Floats, Belief]:
        """Through the samples, probs[B, T, C]: the factors, how well each was foreseen [B, T], and the belief after."""

    def at_once(self, count: int) -> int:
        """How many of the samples of a batch are one step of the filter."""
        return count if self.order == "none" else 1

    def groups(self, count: int) -> Iterable[tuple[int | slice, bool]]:
        """The steps through a batch, each of a sample or of all, and whether something new begins there."""
        starts = [False] * count if self.starts is None else self.starts.tolist()
        return enumerate(starts) if self.order == "time" else [(slice(count), any(starts))]

    def _choose(self, belief: Belief, foreseen: Floats) -> tuple[list[int], Belief]:
        """Which temperature answers each sample. Another one is believed once it is clear that it foresees better."""
        answers: list[int] = []
        evidence, chosen = belief.evidence.tolist(), belief.chosen
        size = self.at_once(len(foreseen))
        weight = _share(self.weigh, size)
        for seen in foreseen.reshape(-1, size, len(evidence)).mean(1).tolist():
            answers += [chosen] * size
            evidence = [old + weight * (new - old) for old, new in zip(evidence, seen, strict=True)]
            best = max(range(len(evidence)), key=evidence.__getitem__)
            if evidence[best] > evidence[chosen] + self.margin:
                chosen = best
        return answers, replace(belief, evidence=np.array(evidence), chosen=chosen)


class Sticky(_Filter):
    """A hidden Markov filter: a class stays with probability s, or is drawn anew from the network's long-run marginal.

    Dividing by that marginal is what makes it safe: what the network says all the time is no sign of a run. s is
    learned by one step of online EM per sample; it falls towards 0 on streams without runs, and the filter with it.
    A network that is too sure of its errors would overrule it, and one that is never sure would follow: a higher or a
    lower temperature then has the greater evidence.
    """

    name = "sticky"
    start = 0.5
    temperatures = (1.5, 3.0, 0.5)
    learn, slow = 0.02, 0.005  # shares of one sample in s and in the marginal
    least, most = 0.02, 0.99  # of s; without the first, thousands of samples would be needed to come back
    least_marginal = 1e-3  # of a class, times the number of classes
    loud = 0.9  # above it one warning is given

    @property
    def stickiness(self) -> float | None:
        return None if self.belief is None else float(self.belief.stay[self.belief.chosen])

    def follow(self, raw: Prediction) -> Prediction:
        prediction = super().follow(raw)
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

    def walk(self, belief: Belief, probs: Floats) -> tuple[Floats, Floats, Belief]:
        last, marginal, stay = belief.last, belief.marginal, belief.stay[:, None]  # [T, C], [T, C], [T, 1]
        factors, totals = np.empty_like(probs), np.empty((*probs.shape[:2], 1))
        # Arrays, with which numpy is twice as fast as with numbers.
        least, most, one = (np.full_like(stay, value) for value in (self.least, self.most, 1.0))
        learn, slow = (np.full_like(stay, _share(share, self.at_once(len(probs)))) for share in (self.learn, self.slow))
        floor = np.full_like(marginal, self.least_marginal / probs.shape[2])
        for part, begins in self.groups(len(probs)):
            now = probs[part]  # [T, C], or [B, T, C]
            anew = one - stay
            factor = stay * (marginal if begins else last) / marginal + anew
            joint = now * factor
            total = np.add.reduce(joint, -1, keepdims=True)
            factors[part], totals[part] = factor, total
            marginal = np.maximum(floor, marginal + self.pace(anew, slow) * (_average(now) - marginal))
            marginal /= np.add.reduce(marginal, 1, keepdims=True)
            stay = stay + learn * anew * (one - _average(one / total))  # towards the probability that the class stayed
            stay = np.minimum(most, np.maximum(least, stay))
            last = _average(joint / total)
        return factors, totals[:, :, 0], replace(belief, last=last, marginal=marginal, stay=stay[:, 0])

    def pace(self, anew: Floats, slow: Floats) -> Floats:
        """How far the marginal moves: [T, 1], as are the probability of a new class and the usual pace."""
        return slow


class Patient(Sticky):
    """The same for long runs: the longer they are, the more slowly the marginal moves.

    The marginal of `sticky` follows the last few hundred samples. In a run of a thousand it becomes that of the run,
    and dividing by it takes the run out again. The price: the bias of a network is learned more slowly too.
    """

    name = "patient"
    hurry = 4.0  # the marginal has its usual pace until s is 0.75

    def pace(self, anew: Floats, slow: Floats) -> Floats:
        return np.minimum(slow, self.hurry * slow * anew)


class Ema(_Filter):
    """The moving average of predictions as the prior: simple, a rival. It does not notice that a stream has no runs."""

    name = "ema"
    rate, floor = 0.1, 0.03

    def walk(self, belief: Belief, probs: Floats) -> tuple[Floats, Floats, Belief]:
        factors, last = np.empty_like(probs), belief.last
        rate = _share(self.rate, self.at_once(len(probs)))
        for part, begins in self.groups(len(probs)):
            last = belief.marginal if begins else last
            factors[part] = last + self.floor
            last = last + rate * (_average(probs[part]) - last)
        return factors, np.ones(probs.shape[:2]), replace(belief, last=last)


def _share(of_one: float, count: int) -> float:
    """What so many samples at once count for, given what one does."""
    return float(1 - (1 - of_one) ** count)


def _average(values: Floats) -> Floats:
    """Over the samples that come at once, [B, T, ...] to [T, ...], unless it is only one."""
    mean: Floats = values if values.ndim == 2 else values.mean(0)
    return mean


PRIORS: dict[str, type[Prior]] = {cls.name: cls for cls in (Prior, Sticky, Patient, Ema)}


def make_prior(name: str, order: Any = "time") -> Prior:
    if name not in PRIORS:
        raise unknown("prior", name, PRIORS)
    return PRIORS[name](order)
