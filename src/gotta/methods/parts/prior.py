"""What the classes of the samples before say of the next one: `none`, `sticky`, or `ema`.

A prior is given the network's prediction of samples in the order in which they came, and answers with another. It is
causal: a sample's answer depends on that sample and those before it. `follow` moves it; `look` only asks.
"""

import warnings
from abc import abstractmethod
from collections.abc import Mapping
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


class OrderWarning(UserWarning):
    """Predictions lean on the order of the samples."""


@dataclass(frozen=True)
class Belief:
    """What a prior knows: the last sample's classes, the long-run classes [C], and how often a class stays.

    `evidence` is how well it foresaw the samples so far: the mean logarithm of their likelihood, over that without it.
    """

    last: Floats
    marginal: Floats
    stay: float
    evidence: float = 0.0

    def to_state(self) -> dict[str, Any]:
        return {
            "last": torch.from_numpy(self.last),
            "marginal": torch.from_numpy(self.marginal),
            "stay": self.stay,
            "evidence": self.evidence,
        }

    def restarted(self) -> "Belief":
        """Before a sample that has nothing to do with the last one."""
        return replace(self, last=self.marginal.copy())

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Belief":
        last, marginal = (state[name].cpu().numpy() for name in ("last", "marginal"))
        return cls(last, marginal, state["stay"], state["evidence"])


@dataclass(frozen=True)
class Beliefs:
    """One for each temperature of the network's predictions, and the number of the one that answers."""

    each: tuple[Belief, ...]
    chosen: int = 0

    @property
    def answering(self) -> Belief:
        return self.each[self.chosen]

    def restarted(self) -> "Beliefs":
        return replace(self, each=tuple(belief.restarted() for belief in self.each))

    def chosen_again(self, margin: float) -> "Beliefs":
        """Another one answers once it is clear that it foresees better."""
        best = max(range(len(self.each)), key=lambda at: self.each[at].evidence)
        clear = self.each[best].evidence > self.answering.evidence + margin
        return replace(self, chosen=best) if clear else self

    def to_state(self) -> dict[str, Any]:
        return {"each": [belief.to_state() for belief in self.each], "chosen": self.chosen}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Beliefs":
        """States of an earlier version have a single one, of the first temperature, and go on with it."""
        if "each" not in state:
            return cls((Belief.from_state({**state, "evidence": 0.0}),))
        return cls(tuple(Belief.from_state(part) for part in state["each"]), state["chosen"])


class Prior:
    """No prior: the network's own prediction. The others override `update`."""

    name: ClassVar[str] = "none"
    start: ClassVar[float] = 0.0  # how often a class is thought to stay before anything was seen

    def __init__(self, order: Literal["time", "none"] = "time") -> None:
        if order not in ORDERS:
            raise unknown("order_in_batch", order, ORDERS)
        self.order = order
        self.belief: Beliefs | None = None  # until the number of classes is known
        self.before: Beliefs | None = None  # as it was before the last batch
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
            None if state[name] is None else Beliefs.from_state(state[name]) for name in ("belief", "before")
        )

    def _judge(self, raw: Prediction, belief: Beliefs | None) -> tuple[Prediction, Beliefs | None]:
        return raw, belief


class _Filter(Prior):
    """A prior that multiplies the network's probabilities, softened by a temperature, by a factor per class.

    Of several temperatures each has its own belief, and the one that foresees the samples best answers: how sure of
    itself a network may be differs from one to the other, and nobody tells.
    """

    temperatures: ClassVar[tuple[float, ...]] = (1.0,)
    margin: ClassVar[float] = 0.1  # of evidence, by which another temperature must be better

    def _judge(self, raw: Prediction, belief: Beliefs | None) -> tuple[Prediction, Beliefs | None]:
        logits = raw.logits.detach().double().cpu()
        classes = logits.shape[1]
        if belief is None:
            uniform = np.full(classes, 1 / classes)
            belief = Beliefs((Belief(uniform, uniform, self.start),) * len(self.temperatures))
        own = logits.log_softmax(1).numpy()
        tempered = [(logits / temperature).softmax(1).numpy() for temperature in self.temperatures]
        factor, sharp = np.empty_like(own), np.empty((len(own), 1))  # [B, C] and [B, 1]
        starts = np.zeros(len(own), bool) if self.starts is None else self.starts
        at_once = len(own) if self.order == "none" else 1
        for at in range(0, len(own), at_once):
            part = slice(at, at + at_once)
            belief = belief.restarted() if starts[part].any() else belief
            found = [self.step(one, probs[part]) for one, probs in zip(belief.each, tempered, strict=False)]
            factor[part], sharp[part] = found[belief.chosen][0], self.temperatures[belief.chosen]
            belief = Beliefs(tuple(after for _, after in found), belief.chosen).chosen_again(self.margin)
        # The filter's own posterior, made as sharp as the network is: without a factor it is the network's prediction.
        out = torch.from_numpy(own + sharp * np.log(factor)).log_softmax(1).to(raw.logits)
        return Prediction(out, raw.features, raw.embed, raw), belief

    @abstractmethod
    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        """The factor for some samples that come at once, probs[n, C], and the belief after them."""


class Sticky(_Filter):
    """A hidden Markov filter: a class stays with probability s, or is drawn anew from the network's long-run marginal.

    Dividing by that marginal is what makes it safe: what the network says all the time is no sign of a run. s is
    learned by one step of online EM per sample; it falls towards 0 on streams without runs, and the filter with it.
    A network that is too sure of its errors would overrule it: a higher temperature then has the greater evidence.
    """

    name = "sticky"
    start = 0.5
    temperatures = (1.5, 3.0)
    learn, slow, weigh = 0.02, 0.005, 0.002  # shares of one sample in s, the marginal and the evidence
    least, most = 0.02, 0.99  # of s; without the first, thousands of samples would be needed to come back
    least_marginal = 1e-3  # of a class, times the number of classes
    loud = 0.9  # above it one warning is given

    @property
    def stickiness(self) -> float | None:
        return None if self.belief is None else self.belief.answering.stay

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

    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        last, marginal, s = belief.last, belief.marginal, belief.stay
        stays = s * last / marginal  # [C]
        factor = stays + (1 - s)
        joint = probs * factor  # [n, C]
        total = joint.sum(1)
        share = float(((probs @ stays) / total).mean())
        seen, count = probs.mean(0), len(probs)
        marginal = marginal + (1 - (1 - self.slow) ** count) * (seen - marginal)
        marginal = np.maximum(marginal, self.least_marginal / len(marginal))
        s = min(self.most, max(self.least, s + (1 - (1 - self.learn) ** count) * (share - s)))
        weight = 1 - (1 - self.weigh) ** count
        evidence = belief.evidence + weight * (float(np.log(total).mean()) - belief.evidence)
        return factor, Belief((joint / total[:, None]).mean(0), marginal / marginal.sum(), s, evidence)


class Ema(_Filter):
    """The moving average of predictions as the prior: simple, a rival. It does not notice that a stream has no runs."""

    name = "ema"
    rate, floor = 0.1, 0.03

    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        factor = belief.last + self.floor
        moved = belief.last + (1 - (1 - self.rate) ** len(probs)) * (probs.mean(0) - belief.last)
        return factor, replace(belief, last=moved)


PRIORS: dict[str, type[Prior]] = {cls.name: cls for cls in (Prior, Sticky, Ema)}


def make_prior(name: str, order: Any = "time") -> Prior:
    if name not in PRIORS:
        raise unknown("prior", name, PRIORS)
    return PRIORS[name](order)
