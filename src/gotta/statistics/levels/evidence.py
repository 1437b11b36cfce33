"""Whether a jump makes a network better, judged without labels. Evidence adds up over batches.

A jump is believed if the network becomes surer of what it says. A network that meets noise can be very sure of a few
wrong classes, so a wider spread of its predictions counts as well, the more so the more evenly the classes come after
the jump: in a stream of one class a wider spread is a bad sign. So unless classes come evenly, the network must become
surer, and deep layers, which carry the class, may not spread what it says. The fewer classes there are, the more is
asked for.
Where there are more classes than samples, the spread says how unsure single predictions are, and does not count.
"""

from math import exp, sqrt
from typing import NamedTuple

import torch
from torch import Tensor

MARGIN, SKEWED_MARGIN = 0.06, 0.2  # share of the entropy that a jump must gain, and more if only one class is there
CERTAIN = 2.0  # standard errors of the gain, by which it must be above that
MIXED = 0.8  # evenness from which a jump need not make a network surer, and may spread its predictions by deep layers
WIDER = 0.1  # spread that a jump of the deep layers may add below that
EVEN = 0.5  # evenness from which fewer standard errors are enough, down to none where all classes come alike
EARLY, ENOUGH = 3.0, 48  # standard errors that decide early or alone, and samples that the evenness takes
WINDOW = 16  # samples that are compared together, and that a trial is made of, at least
EVENNESS = 2  # power by which the spread of predictions counts
REMEMBER = 512  # samples after which half of the evidence is forgotten


class Score(NamedTuple):
    """What a network says of some samples: their entropies [n], the mean of their probabilities [C], and their mix.

    The mix is that mean, or the shares of the labels where there are more classes than samples: a mean of unsure
    predictions looks like many classes even if all samples are of one.

    Logits that are not finite say nothing, so that such a jump is not believed and spoils no later trial.
    """

    entropies: Tensor
    mean: Tensor
    mix: Tensor

    @classmethod
    def of(cls, logits: Tensor) -> "Score":
        logits = logits.detach().double()
        logs = logits.where(logits.isfinite().all(1, keepdim=True), 0).log_softmax(1)
        mean, classes = logs.exp().mean(0), logs.shape[1]
        many = classes > max(len(logs), WINDOW)
        mix = logs.argmax(1).bincount(minlength=classes).to(mean) / len(logs) if many else mean
        return cls(-(logs.exp() * logs).sum(1), mean, mix)

    @property
    def entropy(self) -> float:
        return float(self.entropies.mean())


class Evidence(NamedTuple):
    """Sums over the samples of one or several trials, in one row so that it can be kept: see `of`."""

    row: Tensor  # [4 + 3 C]

    @classmethod
    def of(cls, now: Score, shallow: Score, jumped: Score) -> "Evidence":
        """A network as it is, with its shallow layers moved, and with all that jump."""
        count, change = len(now.entropies), now.entropies - jumped.entropies
        sums = [float(count), float(now.entropies.sum()), float(jumped.entropies.sum())]
        spread = float((change - change.mean()).square().sum())
        means = [count * part for part in (now.mean, jumped.mean, shallow.mix)]
        return cls(torch.cat([torch.tensor([*sums, spread], dtype=torch.float64), *(part.cpu() for part in means)]))

    def after(self, before: Tensor) -> "Evidence":
        """With what earlier trials have found; none is an empty row."""
        if len(before) != len(self.row):
            return self
        before = before.to(self.row)
        return Evidence(self.row + (before / 2 if float(before[0]) > REMEMBER else before))

    @property
    def gain(self) -> float:
        """Of the jump: entropy that is gone, and spread that has come."""
        count, now, jumped, _, means = self._parts()
        return now - jumped + _spread_gain(means[0], means[1], count, self.evenness)

    def convinces(self) -> bool:
        """Whether the gain is large enough; of few samples, and of skewed classes, part of it must be entropy."""
        few = float(self.row[0]) < ENOUGH
        return self._is_above(EARLY if few else CERTAIN * min(1.0, (1 - self.evenness) / EVEN), few)

    def convinces_alone(self) -> bool:
        """Whether samples of skewed classes do so whatever was found before: a long run of another class may say no."""
        return float(self.row[0]) >= ENOUGH and self.evenness < MIXED and self._is_above(EARLY)

    def _is_above(self, errors: float, entropy_alone: bool = False) -> bool:
        """Whether the gain is above what is asked for, by so many standard errors."""
        count, now, jumped, spread, _ = self._parts()
        surer, evenness = now - jumped, self.evenness
        if evenness < MIXED and surer < MARGIN * now:
            return False
        asked = (MARGIN + SKEWED_MARGIN * (1 - evenness)) * now + errors * sqrt(spread) / count
        return (surer if entropy_alone else self.gain) > asked

    @property
    def evenness(self) -> float:
        """1 where all classes come alike, 0 for a single one."""
        count, *_, means = self._parts()
        return evenness_of(means[2], count)

    def _parts(self) -> tuple[float, float, float, float, Tensor]:
        count, now, jumped, spread = self.row[:4].tolist()
        return count, now / count, jumped / count, spread, self.row[4:].reshape(3, -1) / count


def gain_of(now: Score, then: Score, evenness: float) -> float:
    """The same for two scores of the same samples."""
    return now.entropy - then.entropy + _spread_gain(now.mean, then.mean, len(now.entropies), evenness)


def widens(shallow: Score, jumped: Score, evenness: float) -> bool:
    """Whether deep layers spread the predictions of skewed classes: they take out the class that they carry."""
    return evenness < MIXED and spread_of(jumped.mix) - spread_of(shallow.mix) > WIDER


def _spread_gain(now: Tensor, then: Tensor, count: float, evenness: float) -> float:
    if len(now) > max(count, WINDOW):
        return 0.0
    return evenness**EVENNESS * (spread_of(then) - spread_of(now))


def spread_of(mean: Tensor) -> float:
    """The entropy of an average prediction."""
    return float(-(mean * mean.clamp_min(1e-12).log()).sum())


def evenness_of(mean: Tensor, count: float) -> float:
    """How many classes an average prediction holds, against how many so many samples would have of an even mix."""
    classes = len(mean)
    most = classes * (1 - (1 - 1 / classes) ** count)
    share = (exp(spread_of(mean)) - 1) / max(most - 1, 1e-9)
    return float(min(1.0, max(0.0, share)))
