"""What the classes of the samples before say of the next one: `none`, `sticky`, `patient`, or `ema`.

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

    def chosen_again(self, margin: float) -> "Belief":
        """Another temperature is believed once it is clear that it foresees better."""
        best = int(self.evidence.argmax())
        clear = self.evidence[best] > self.evidence[self.chosen] + margin
        return replace(self, chosen=best) if clear else self

    def to_state(self) -> dict[str, Any]:
        return {name: torch.from_numpy(getattr(self, name)) for name in ARRAYS} | {"chosen": self.chosen}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> "Belief":
        """States of an earlier version are of the first temperature alone, and go on with it."""
        if "chosen" not in state:
            last, marginal = (state[name].cpu().numpy()[None] for name in ("last", "marginal"))
            return cls(last, marginal, np.array([state["stay"]]), np.zeros(1))
        last, marginal, stay, evidence = (state[name].cpu().numpy() for name in ARRAYS)
        return cls(last, marginal, stay, evidence, state["chosen"])


class Prior:
    """No prior: the network's own prediction. The others override `update`."""

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
    margin: ClassVar[float] = 0.1  # of evidence, by which another temperature must be better

    def _judge(self, raw: Prediction, belief: Belief | None) -> tuple[Prediction, Belief | None]:
        logits = raw.logits.detach().double().cpu()
        if belief is None:
            belief = Belief.of_nothing(len(self.temperatures), logits.shape[1], self.start)
        own = logits.log_softmax(1).numpy()
        believed = self.temperatures[: len(belief.stay)]
        tempered = torch.stack([(logits / temperature).softmax(1) for temperature in believed]).numpy()  # [T, B, C]
        factor, sharp = np.empty_like(own), np.empty((len(own), 1))  # [B, C] and [B, 1]
        at_once = len(own) if self.order == "none" else 1
        for at in range(0, len(own), at_once):
            part = slice(at, at + at_once)
            if self.starts is not None and self.starts[part].any():
                belief = belief.restarted()
            factors, after = self.step(belief, tempered[:, part])
            factor[part], sharp[part] = factors[belief.chosen], self.temperatures[belief.chosen]
            belief = after.chosen_again(self.margin)
        # The filter's own posterior, made as sharp as the network is: without a factor it is the network's prediction.
        out = torch.from_numpy(own + sharp * np.log(factor)).log_softmax(1).to(raw.logits)
        return Prediction(out, raw.features, raw.embed, raw), belief

    @abstractmethod
    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        """The factor for some samples that come at once, probs[T, n, C], and the belief after them."""


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

    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        count, stay = probs.shape[1], belief.stay
        stays = stay[:, None] * belief.last / belief.marginal  # [T, C]
        factor = stays + (1 - stay)[:, None]
        joint = probs * factor[:, None]  # [T, n, C]
        total = joint.sum(2)  # [T, n]
        share = _average((probs * stays[:, None]).sum(2) / total)
        slow = self.renewed(share) * (1 - (1 - self.slow) ** count)
        marginal = belief.marginal + slow * (_average(probs) - belief.marginal)
        marginal = np.maximum(marginal, self.least_marginal / marginal.shape[1])
        stay = np.minimum(self.most, np.maximum(self.least, stay + (1 - (1 - self.learn) ** count) * (share - stay)))
        weight = 1 - (1 - self.weigh) ** count
        evidence = belief.evidence + weight * (_average(np.log(total)) - belief.evidence)
        last = _average(joint / total[:, :, None])
        return factor, Belief(last, marginal / marginal.sum(1, keepdims=True), stay, evidence, belief.chosen)

    def renewed(self, share: Floats) -> Floats | float:
        """What the samples count for in the marginal, where a class has stayed with probability share[T]."""
        return 1.0


class Patient(Sticky):
    """The same for runs of any length: a sample moves the marginal as far as its class was drawn anew.

    The marginal of `sticky` follows the last few hundred samples. In a run of a thousand it becomes that of the run,
    and dividing by it takes the run out again. The price: what a network says all the time is taken for a run. Only
    for networks whose statistics adapt.
    """

    name = "patient"
    slow = 0.01  # share of one sample that was drawn anew
    least_renewed = 0.02  # so that the marginal goes on even if one class stays for ever

    def renewed(self, share: Floats) -> Floats | float:
        return np.maximum(1 - share, self.least_renewed)[:, None]


class Ema(_Filter):
    """The moving average of predictions as the prior: simple, a rival. It does not notice that a stream has no runs."""

    name = "ema"
    rate, floor = 0.1, 0.03

    def step(self, belief: Belief, probs: Floats) -> tuple[Floats, Belief]:
        factor = belief.last + self.floor
        moved = belief.last + (1 - (1 - self.rate) ** probs.shape[1]) * (_average(probs) - belief.last)
        return factor, replace(belief, last=moved)


def _average(values: Floats) -> Floats:
    """Over the samples that come at once, [T, n, ...] to [T, ...]; of a single one it is that one."""
    return values[:, 0] if values.shape[1] == 1 else values.mean(1)


PRIORS: dict[str, type[Prior]] = {cls.name: cls for cls in (Prior, Sticky, Patient, Ema)}


def make_prior(name: str, order: Any = "time") -> Prior:
    if name not in PRIORS:
        raise unknown("prior", name, PRIORS)
    return PRIORS[name](order)
