"""Statistics of BatchNorm that stay the source's until a change of domain is found.

Every layer has a *level*: the mean and variance it normalises with. It is the source's, and no level moves before a
change of domain was found. What the shallow half of the layers sees is compared with it, in units of the noise of
single samples (`look.py`). Where that is far off, the batch is predicted again, on trial (`trial.py`), with levels that
*jump* to what they see, each layer after the ones before it: most of the shift of deep layers is a cascade of the
shallow ones. The jump counts if the network is better for it (`evidence.py`). A found domain that no longer fits is
left for the source's level, or for another jump.

Deep layers carry the class, so the more skewed the classes are, the less they jump and move. After a jump the level
becomes the long average of what is seen. In a video, whose frames are alike, a found change permits this and no jump.

With `classes` each class has a *signature*: its usual offset from the level, and its usual mean square. What the
classes of a batch explain does not move the level. Of very many classes, groups have signatures. Without `classes`
these are running statistics with a gate.

Samples that are constant, repeated, or far from the level where others are near do not count: for no level, no
signature, and not for the prior. What `watch` saw counts only once `learn` is called with the labels.
"""

import logging
from collections.abc import Callable
from math import isfinite

import torch
from torch import Tensor, nn

from gotta.statistics.levels.evidence import WINDOW
from gotta.statistics.levels.levels import TRIALS, Levels, Watched, skew_of
from gotta.statistics.levels.look import (
    LEAST_NOISE,
    LEAST_SHARE,
    Noted,
    Sight,
    deviations,
    exactly,
    find_uneven,
    look_at,
)
from gotta.statistics.levels.trial import Trial
from gotta.types import Prediction

LOG = logging.getLogger(__name__)
EARN = 1024  # samples that earn one more trial
UNIT = 64  # samples that the next three are for
FIRST, SKEWED = 1.0, 40.0  # units that a level counts for after a jump, and more if the last samples are of one class
DEEP = 10.0  # times the skew: by how much more slowly the last layer moves
SLOWEST = 0.01  # share by which a level moves per unit, in the long run
LEARN, LEARN_FIRST = 0.003, 30  # share by which a signature moves per sample of its class, and samples it starts with
MIX = 16  # samples that the expected mix of classes counts for
STRANGE = 1.1  # distance from the source, above that at home, from which samples teach neither signatures nor noise
NOISE = 0.01  # share by which the noise follows one sample


class ClassStatistics(Levels):
    """Levels that are moved by the predictions themselves."""

    def watch(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> Prediction:
        """Predict samples as often as it takes to find out whether the domain has changed. The prediction to use."""
        noted, self.noted = self.noted, None
        if noted is None:
            with self.watching(net) as sight:
                prediction = predict()
        else:
            sight = self.begin_sight(Sight.ahead(self.mean, self.var, noted.rows, len(self.sizes)))
            prediction = predict()
        logits = prediction.logits
        if not sight.calls or logits.shape[:-1] != (len(x),) or not bool(torch.isfinite(logits).all()):
            return prediction
        with torch.no_grad(), exactly(self.mean):
            look = look_at(self, x, sight, logits, noted)
            strange = look.number >= WINDOW and look.distance - self.home > STRANGE and not self.away
            seen = {"noise": look.noise, "newness": look.newness, **look.seen}
            self.watched = Watched(sight, look.counts, strange, seen)
            if not look.is_worth_a_trial:
                return prediction
            self.begin(logits.shape[1])
        changes, level = Trial(self, net, predict, look).decide(prediction)
        LOG.debug("a trial at distance %.2f moves %s", look.distance, "the levels" if level else "nothing")
        if level is not None:
            sight = Sight(*level)
            with self.watching(net, sight):
                prediction = predict()
        self.watched = Watched(sight, look.counts, strange, seen | changes)
        return prediction

    def look_ahead(self, x: Tensor, rows: Tensor, sizes: list[int]) -> list[Noted]:
        parts = zip(torch.split(rows, sizes, 1), torch.split(find_uneven(x).to(rows.device), sizes), strict=True)
        return [Noted(seen.contiguous(), uneven) for seen, uneven in parts]  # a copy, so that a stream keeps its own

    @property
    def counts(self) -> Tensor | None:
        """Which of the samples that were watched last count, [n]; all where None."""
        return None if self.watched is None else self.watched.counts

    @torch.no_grad()
    def learn(self, label: Tensor, num_classes: int) -> None:
        """What was watched becomes part of the levels, now that its labels are known."""
        watched, self.watched = self.watched, None
        if watched is None or not watched.sight.calls:
            return
        idle = self.idle_in(watched.sight)
        with exactly(self.mean):
            found, group = watched.sight.rows(idle, len(label)), self._signed(label, num_classes)
            if watched.counts is not None:
                found, group = found[:, watched.counts], group[watched.counts]
            if isfinite(float(found.sum())):
                self._follow(watched, found, group)
                if idle:
                    self.put_back(idle)

    def _follow(self, watched: Watched, found: Tensor, group: Tensor) -> None:
        """What the trial has found, and then the samples: at once, or with those that wait if they are few."""
        sight, count = watched.sight, len(group)
        self.samples += count
        self.since, self.in_hand = self.since + count, min(TRIALS, self.in_hand + count / EARN)
        moved = sight.mean is not self.mean
        for name, value in watched.changes.items():
            setattr(self, name, value)
        if moved:
            whose = "others" if self.away else "the source's again"
            LOG.info("after %d samples the levels are %s", self.samples, whose)
            self.mean, self.var = sight.mean, sight.var
            self.cut()
        elif len(self.labels):
            found, group = torch.cat([self.waiting, found], 1), torch.cat([self.labels, group])
        enough = len(group) >= WINDOW
        if enough:
            self._move(found, group, watched.strange and not self.away)
        self.waiting, self.labels = (found[:, :0], group[:0]) if enough else (found, group)

    def _move(self, found: Tensor, group: Tensor, strange: bool) -> None:
        """Noise, signatures and mix follow the samples, found[2, n, P] and group[n]; so do levels, once away.

        What is strange at the source's level moves the mix alone: a signature would take up the change, and hide it.
        """
        count = len(group)
        member = self.mean.new_zeros(count, len(self.mix)).scatter_(1, group[:, None], 1.0)  # [n, K]
        of_group = member.sum(0)
        share = of_group / count
        self.mix = self.mix.lerp(share, count / (count + MIX))
        seen = deviations(found, self.mean, self.var)
        if not strange:
            chance = (seen - self.signature[:, group]).var(1)
            chance = torch.minimum(chance, 4 * self.noise) if self.known else self.noise
            self.noise = self.noise.lerp(chance, 1 - (1 - NOISE) ** count).clamp_min(LEAST_NOISE)
        self.known = True
        if self.away:
            self._move_levels(seen.mean(1), self.expect(share), count)
        if len(self.mix) > 1 and not strange:
            self._learn_signatures(member.T @ seen / of_group.clamp_min(1)[:, None], of_group)
        self.cut()

    def _learn_signatures(self, of_class: Tensor, of_group: Tensor) -> None:
        self.taught = self.taught + of_group
        pace = torch.maximum(1 - (1 - LEARN) ** of_group, of_group / (self.taught + LEARN_FIRST))
        offset, square = self.signature.lerp(of_class, pace[:, None])
        self.signature = torch.stack([offset - self.average(offset), square / self.average(square)])

    def _move_levels(self, average: Tensor, expected: Tensor, count: int) -> None:
        rate = self._pace(count)
        excess = (average[1] / expected[1].clamp_min(LEAST_SHARE)).clamp(0.05, 20) - 1
        self.mean = self.mean + rate * self.var.sqrt() * (average[0] - expected[0])
        self.var = torch.maximum(self.var * (1 + rate * excess), self.least_var)

    def _pace(self, count: int) -> Tensor:
        """The share by which levels move with so many samples, [P]."""
        skew = skew_of(self.mix, self.shares)
        rate = max(SLOWEST, 1 / (self.age + FIRST + SKEWED * skew)) / (1 + DEEP * skew * self.depth)  # [P]
        self.age += count / UNIT
        return 1 - (1 - rate) ** (count / UNIT)

    @torch.no_grad()
    def know_home(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> None:
        """Clean samples tell how far the network's own statistics are off at home: no trial before it is farther."""
        with self.watching(net) as sight:
            logits = predict().logits
        if sight.calls:
            look = look_at(self, x, sight, logits)
            self.home = self.refused = max(self.refused, look.distance)
            self.watched = Watched(sight, look.counts, False, {"noise": look.noise})
            self.learn(logits.argmax(1), logits.shape[1])

    def _signed(self, label: Tensor, num_classes: int) -> Tensor:
        """The signature that each sample has; a single one, which stays 0 and 1, where classes do not count."""
        self.begin(num_classes)
        label = label.to(self.mean.device)
        if len(self.groups):
            return self.groups[label]
        return label if len(self.mix) > 1 else torch.zeros_like(label)
