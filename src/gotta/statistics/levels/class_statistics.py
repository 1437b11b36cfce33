"""Statistics of BatchNorm that stay the source's until a change of domain is found.

Every layer has a *level*: the mean and variance it normalises with. It is the source's, and no level moves before a
change of domain was found. What the shallow half of the layers sees is compared with it, in units of the noise of
single samples. Where that is far off, the batch is predicted again, on trial, with levels that *jump* to what they see,
each layer after the ones before it: most of the shift of deep layers is a cascade of the shallow ones. The jump counts
if the network is better for it (`trial.py`). A found domain that no longer fits is left for the source's level, or for
another jump.

Deep layers carry the class, so the more skewed the classes are, the less they jump and move. After a jump the level
becomes the long average of what is seen. In a video, whose frames are alike, a found change permits this and no jump.

With `classes` each class has a *signature*: its usual offset from the level, and its usual mean square. What the
classes of a batch explain does not move the level. Of very many classes, groups have signatures. Without `classes`
these are running statistics with a gate.

Samples that are constant, repeated, or far from the level where others are near do not count: for no level, no
signature, and not for the prior. Nothing is kept in the network: `applied` lends it the levels as constants, and what
`watch` saw counts only once `learn` is called with the labels.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.state import Reader, count, flag, number, read_values, set_values, tensor, values_of
from gotta.statistics.levels.class_groups import MOST_CLASSES, block_groups, group_classes, shares_of, skew_of
from gotta.statistics.levels.level_jumps import (
    LEAST_SHARE,
    Level,
    Moments,
    Plan,
    Sight,
    deviations,
    is_far,
    jump,
    mean_distance,
    measure_newness,
    single_distances,
)
from gotta.statistics.levels.trial import Evidence, Score, evenness_of, gain_of
from gotta.statistics.normalization import sample_moments, seen_before, tracked_norms
from gotta.types import Prediction

LOOK, LOOK_AWAY = 0.08, 0.5  # distance that is worth a trial: from the source, and from the level of a found domain
CHANCE = 1.5  # samples' worth of distance that is chance, added to both
CHANGED = 1.0  # distance at which the level of a found domain is given up
MORE = 1.3  # times a distance that a trial has refused: only what is farther off is tried at once
FIRST_WAIT, LAST_WAIT = 64, 4096  # samples until the next trial; twice as many after each that fails
TRIALS, EARN = 4.0, 1024  # trials in hand where the classes have changed since the last, and samples that earn one more
OTHER = 0.5  # share of the predictions that are of other classes then
WINDOW = 16  # samples that are compared together, and that a trial is made of, at least
FEWEST = 8  # samples that a far one is judged among, at least
FRAMES = 0.6  # newness of successive samples below which they are frames of a video
FRAMES_AGE = 20.0  # units that a level counts for where frames may only move it slowly
RECENT = 32  # samples that a repeated one is looked for among
SAME = 1e-5  # share by which copies of a sample may differ, by rounding
PAIRS = 2**22  # numbers that are compared at once to find copies
UNIT = 64  # samples that the next three are for
FIRST, SKEWED = 1.0, 40.0  # units that a level counts for after a jump, and more if the last samples are of one class
DEEP = 10.0  # times the skew: by how much more slowly the last layer moves
SLOWEST = 0.01  # share by which a level moves per unit, in the long run
LEARN, LEARN_FIRST = 0.003, 30  # share by which a signature moves per sample of its class, and samples it starts with
MIX = 16  # samples that the expected mix of classes counts for
STEADY = 256  # samples that the newness of samples counts for
NOISE = 0.01  # share by which the noise follows one sample
USUAL_NOISE, LEAST_NOISE = 0.1, 1e-4  # until enough samples tell, and ever
LEAST_VARIANCE = 0.01  # of the source's
TENSORS = (
    *("mean", "var", "noise", "signature", "taught", "mix", "groups", "waiting", "labels", "recent"),
    *("distances", "evidence", "tried", "gathered"),
)
STATE: dict[str, Reader] = {
    **dict.fromkeys(TENSORS, tensor),
    **dict.fromkeys(("away", "known"), flag),
    **dict.fromkeys(("samples", "jumps", "trials", "wait", "since", "trying"), count),
    **dict.fromkeys(("age", "newness", "refused", "in_hand"), number),
}


class _Watched(NamedTuple):
    """The forward that answered, and what it leaves behind once its labels are known."""

    sight: Sight
    counts: Tensor | None  # which samples count, [n]; all where None
    newness: float
    changes: dict[str, Any]  # of the state


class ClassStatistics:
    """The levels of all BatchNorm layers of a network, side by side in vectors over all P channels."""

    state = STATE

    def __init__(self, net: nn.Module, classes: bool) -> None:
        layers = tracked_norms(net)
        self.classes, self.sizes = classes, [layer.num_features for layer in layers]
        self.mean = self.source_mean = torch.cat([_buffer(layer, "running_mean").float() for layer in layers])  # [P]
        self.var = self.source_var = torch.cat([_buffer(layer, "running_var").float() for layer in layers])  # [P]
        self.noise = self.mean.new_full((2, len(self.mean)), USUAL_NOISE)
        self.age = 0.0  # units since the last change
        # Offset and mean square of each class or group, [2, K, P], the samples each was learned from and the mix of the
        # last predictions, [K]; the group of each class, [C], where groups have the signatures. All of them once the
        # number of classes is known.
        self.signature = self.mean.new_zeros(2, 0, len(self.mean))
        self.taught = self.mix = self.mean.new_zeros(0)
        self.groups = torch.zeros(0, dtype=torch.int64, device=self.mean.device)
        self._by_weights = group_classes(net) if classes else None
        self._shares: Tensor | None = None  # of each group in the classes, [K], unless all have the same
        # Moments [2, n, P] and labels [n] of samples from small batches, until there are enough to compare and learn.
        self.waiting, self.labels = self.mean.new_zeros(2, 0, len(self.mean)), torch.zeros_like(self.groups)
        self.recent = self.mean.new_zeros(0, 2 * self.sizes[0])  # what the first layer saw of the last samples
        self.distances = self.mean.new_zeros(0)  # how far each of them was from the level
        # Evidence of the trials that have failed; the mean prediction of the last one, [C]; and, while a trial is made
        # of several small batches, the moments of those so far in its two forwards, [2, 2, P], and their number.
        self.evidence = self.tried = self.mean.new_zeros(0).double()
        self.gathered, self.trying = self.mean.new_zeros(2, 0, len(self.mean)), 0
        self.away = self.known = False  # a change was found; the noise is known
        self.samples = self.jumps = self.trials = 0
        self.newness = 1.0  # how unlike successive samples are: 1 where each is for itself, near 0 in a video
        self.refused, self.wait, self.since, self.in_hand = 0.0, FIRST_WAIT, FIRST_WAIT, TRIALS
        self._compiled = any(hasattr(module, "_orig_mod") for module in net.modules())
        self._watched: _Watched | None = None
        self._sight: Sight | None = None
        self._known: list[tuple[nn.Module, list[_BatchNorm]]] = []
        ends = np.cumsum([0, *self.sizes]).tolist()
        self._places = [slice(*ends[at : at + 2]) for at in range(len(layers))]
        self._half = max(1, len(layers) // 2)
        deep = max(1, len(layers) - 1 - self._half)
        self._depths = [max(0.0, (at - self._half) / deep) for at in range(len(layers))]
        self._depth = torch.tensor(self._depths).repeat_interleave(torch.tensor(self.sizes)).to(self.mean)
        self._cut()

    def _layers_of(self, net: nn.Module) -> list[_BatchNorm]:
        """Looked for once: walking through the modules takes as long as a small layer."""
        for known, layers in self._known:
            if known is net:
                return layers
        self._known.append((net, tracked_norms(net)))
        return self._known[-1][1]

    @contextmanager
    def applied(self, net: nn.Module) -> Iterator[None]:
        """This network normalises with the levels, which stay as they are."""
        layers = self._layers_of(net)
        before = [(layer._buffers["running_mean"], layer._buffers["running_var"], layer.training) for layer in layers]
        try:
            for layer, mean, var in zip(layers, *self._lent, strict=True):
                _lend(layer, mean, var)
                if layer.training:
                    layer.training = False
            yield
        finally:
            for layer, (own_mean, own_var, training) in zip(layers, before, strict=True):
                layer._buffers["running_mean"], layer._buffers["running_var"] = own_mean, own_var
                if training:
                    layer.training = True

    @contextmanager
    def watching(self, net: nn.Module, sight: Sight | None = None) -> Iterator[Sight]:
        """Look at a prediction of this network, which normalises with the levels of `sight`."""
        sight = Sight(self.mean, self.var) if sight is None else sight
        self._sight, self._watched = sight, _Watched(sight, None, self.newness, {})
        # A compiled network may have been traced without anybody looking on.
        eager: AbstractContextManager[Any] = (
            torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        )
        with seen_before(self._layers_of(net), partial(self._see, sight)), eager:
            yield sight

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Forwards inside are lent the levels as what was watched has left them, and are not looked at themselves."""
        sight = self._sight or Sight(self.mean, self.var)
        sight.resting = True
        try:
            yield
        finally:
            sight.resting = False

    def watch(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> Prediction:
        """Predict samples as often as it takes to find out whether the domain has changed. The prediction to use."""
        with self.watching(net) as sight:
            prediction = predict()
        logits = prediction.logits
        if not sight.moments or logits.shape[:-1] != (len(x),) or not bool(torch.isfinite(logits).all()):
            return prediction
        with torch.no_grad(), torch.autocast(self.mean.device.type, enabled=False):
            look = self._look_at(x, sight, logits)
        self._watched = _Watched(sight, look.counts, look.newness, {"noise": look.noise, **look.seen})
        if not self._is_worth_a_trial(look):
            return prediction
        with torch.no_grad(), torch.autocast(self.mean.device.type, enabled=False):
            self._begin(logits.shape[1])
        verdict = _Trial(self, net, predict, look).decide(prediction)
        if verdict.level is not None:
            sight = Sight(*verdict.level)
            with self.watching(net, sight):
                prediction = predict()
        self._watched = _Watched(
            sight, look.counts, look.newness, {"noise": look.noise, **look.seen, **verdict.changes}
        )
        return prediction

    @property
    def counts(self) -> Tensor | None:
        """Which of the samples that were watched last count, [n]; all where None."""
        return None if self._watched is None else self._watched.counts

    def _see(self, sight: Sight, at: int, layer: _BatchNorm, x: Tensor) -> None:
        if not sight.resting:
            moments = sample_moments(x.detach() if x.requires_grad else x)
            plan = sight.plan
            if sight.note(at, moments) and plan is not None and at < plan.layers:
                self._jump(sight, plan, at, moments)
        if at in sight.levels:
            _lend(layer, *sight.levels[at][:2])
        elif sight.mean is not self.mean:
            _lend(layer, sight.mean[self._places[at]], sight.var[self._places[at]])

    def _jump(self, sight: Sight, plan: Plan, at: int, moments: Moments) -> None:
        found, place = _counted(torch.stack(moments), sight.counts), self._places[at]
        number, seen = found.shape[1], found.mean(1)
        if plan.number:
            seen = plan.gathered[:, place].lerp(seen, number / (number + plan.number))
            number += plan.number
        level = Level(sight.mean[place], sight.var[place], plan.noise[:, place], plan.expected[:, place])
        sight.levels[at] = jump(level, seen, number, plan.skew, self._depths[at], self._least_var[place])

    def _look_at(self, x: Tensor, sight: Sight, logits: Tensor) -> "_Look":
        """What the forward that holds the levels says of its samples, and of those that wait."""
        rows = sight.rows(self._idle(sight), len(x))
        places = self._places[: self._half]
        flat = x.detach().reshape(len(x), -1)
        counts = (
            flat.amax(1) > flat.amin(1) if flat.shape[1] > 1 else torch.ones(len(x), dtype=torch.bool, device=x.device)
        )
        first = rows[:, :, self._places[0]].transpose(0, 1).flatten(1)  # [n, 2 c]
        counts = counts.to(first.device)
        if 0 in sight.moments and len(sight.moments[0][0]) == len(x):  # or all would seem to be the same
            counts &= ~_repeated(torch.cat([self.recent, first]), len(self.recent))
        levels = [self._levels[at] for at in range(self._half)]
        off = single_distances([rows[:, :, place] for place in places], levels)
        distances = torch.cat([self.distances, off[counts]])[-RECENT:]
        among = off[counts] if int(counts.sum()) >= WINDOW else distances
        if len(among) >= FEWEST:
            counts &= ~is_far(off, among)
        recent = torch.cat([self.recent, first])[-RECENT:]
        window = torch.cat([torch.ones_like(self.labels, dtype=torch.bool), counts])
        number = int(window.sum())
        noise, newness = self.noise, self.newness
        if number >= WINDOW:
            kept = self._window(rows, slice(None))[:, window]
            if not self.known:
                noise = deviations(kept, self.mean, self.var).var(1, correction=0).clamp_min(LEAST_NOISE)
            share = number / (number + STEADY) if self.known else 1.0
            newness += share * (measure_newness(kept[:, :, self._places[0]]) - newness)
            levels = [level._replace(noise=noise[:, self._places[at]]) for at, level in enumerate(levels)]
        shallow = [self._window(rows, place)[:, window] for place in places]
        return _Look(
            counts=None if bool(counts.all()) else counts,
            counted=int(counts.sum()),
            number=number,
            distance=mean_distance(shallow, levels) if number else 0.0,
            noise=noise,
            newness=newness,
            seen={"recent": recent, "distances": distances},
            mean=logits.detach()[counts.to(logits.device)].double().softmax(1).mean(0).cpu(),
        )

    def _window(self, rows: Tensor, place: slice) -> Tensor:
        """What some channels saw of the samples, after what they saw of those that wait."""
        found = rows[:, :, place]
        return torch.cat([self.waiting[:, :, place], found], 1) if len(self.labels) else found

    def _is_worth_a_trial(self, look: "_Look") -> bool:
        if not look.counted or (self.away and look.newness < FRAMES):
            return False
        if self.trying:
            return True
        limit = (LOOK_AWAY if self.away else LOOK) + CHANCE / max(look.number, 1)
        if look.number < WINDOW or look.distance <= limit:
            return False
        known = len(self.tried) == len(look.mean)
        other = known and float((look.mean - self.tried.cpu()).abs().sum()) / 2 > OTHER
        waited = self.since + look.counted >= self.wait
        return look.distance > MORE * self.refused or (self.in_hand >= 1 and (waited or other))

    @torch.no_grad()
    def learn(self, label: Tensor, num_classes: int) -> None:
        """What was watched becomes part of the levels, now that its labels are known."""
        watched, self._watched, self._sight = self._watched, None, None
        if watched is None or not watched.sight.moments:
            return
        idle = self._idle(watched.sight)
        with torch.autocast(self.mean.device.type, enabled=False):
            found, group = watched.sight.rows(idle, len(label)), self._signed(label, num_classes)
            if watched.counts is not None:
                found, group = found[:, watched.counts], group[watched.counts]
            if isfinite(float(found.sum())):
                self._follow(watched, found, group)
                if idle:
                    self._put_back(idle)

    def _follow(self, watched: _Watched, found: Tensor, group: Tensor) -> None:
        """What the trial has found, and then the samples: at once, or with those that wait if they are few."""
        sight, count = watched.sight, len(group)
        self.samples += count
        self.since, self.in_hand = self.since + count, min(TRIALS, self.in_hand + count / EARN)
        self.newness = watched.newness
        moved = sight.mean is not self.mean
        for name, value in watched.changes.items():
            setattr(self, name, value)
        if moved:
            self.mean, self.var = sight.mean, sight.var
            self._cut()
        elif len(self.labels):
            found, group = torch.cat([self.waiting, found], 1), torch.cat([self.labels, group])
        enough = len(group) >= WINDOW
        if enough:
            self._move(found, group)
        self.waiting, self.labels = (found[:, :0], group[:0]) if enough else (found, group)

    def _move(self, found: Tensor, group: Tensor) -> None:
        """Noise, signatures and mix follow the samples, found[2, n, P] and group[n]; so do levels, once away."""
        count = len(group)
        member = self.mean.new_zeros(count, len(self.mix)).scatter_(1, group[:, None], 1.0)  # [n, K]
        of_group = member.sum(0)
        share = of_group / count
        seen = deviations(found, self.mean, self.var)
        chance = (seen - self.signature[:, group]).var(1)
        if self.known:
            chance = self.noise.lerp(torch.minimum(chance, 4 * self.noise), 1 - (1 - NOISE) ** count)
        else:
            chance = self.noise
        self.noise, self.known = chance.clamp_min(LEAST_NOISE), True
        self.mix = self.mix.lerp(share, count / (count + MIX))
        if self.away:
            self._move_levels(seen.mean(1), self._expect(share), count)
        if len(self.mix) > 1:
            self.taught = self.taught + of_group
            of_class = member.T @ seen / of_group.clamp_min(1)[:, None]
            pace = torch.maximum(1 - (1 - LEARN) ** of_group, of_group / (self.taught + LEARN_FIRST))
            offset, square = self.signature.lerp(of_class, pace[:, None])
            self.signature = torch.stack([offset - self._average(offset), square / self._average(square)])
        self._cut()

    def _move_levels(self, average: Tensor, expected: Tensor, count: int) -> None:
        skew = skew_of(self.mix, self._shares)
        rate = max(SLOWEST, 1 / (self.age + FIRST + SKEWED * skew)) / (1 + DEEP * skew * self._depth)  # [P]
        rate = 1 - (1 - rate) ** (count / UNIT)
        excess = (average[1] / expected[1].clamp_min(LEAST_SHARE)).clamp(0.05, 20) - 1
        self.mean = self.mean + rate * self.var.sqrt() * (average[0] - expected[0])
        self.var = torch.maximum(self.var * (1 + rate * excess), self._least_var)
        self.age += count / UNIT

    @torch.no_grad()
    def know_home(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> None:
        """Clean samples tell how far the network's own statistics are off at home: no trial before it is farther."""
        with self.watching(net) as sight:
            logits = predict().logits
        if sight.moments:
            look = self._look_at(x, sight, logits)
            self._watched = _Watched(sight, look.counts, self.newness, {"noise": look.noise})
            self.learn(logits.argmax(1), logits.shape[1])
            self.refused = max(self.refused, look.distance)

    def state_dict(self) -> dict[str, Any]:
        return values_of(self)

    def load_state_dict(self, state: Mapping[str, Any], net: nn.Module) -> None:
        """Go on from a state, where the network is now. Raises unless it is one of such a network."""
        found = read_values(self, state)
        self._check(found)
        device = _buffer(tracked_norms(net)[0], "running_mean").device
        set_values(self, {name: value.to(device) if name in TENSORS else value for name, value in found.items()})
        for name in ("source_mean", "source_var", "_depth"):
            setattr(self, name, getattr(self, name).to(device))
        self._sight = self._watched = None
        self._shares = shares_of(self.groups)
        self._cut()

    def _check(self, found: Mapping[str, Any]) -> None:
        """Raises unless tensors go together."""
        every, kinds, small = len(self.source_mean), len(found["mix"]), 2 * self.sizes[0]
        shapes = {"mean": (every,), "var": (every,), "noise": (2, every), "signature": (2, kinds, every)}
        shapes |= {"taught": (kinds,), "waiting": (2, len(found["labels"]), every)}
        shapes |= {"recent": (len(found["recent"]), small), "gathered": (2, 2 if found["trying"] else 0, every)}
        for name, shape in shapes.items():
            value = found[name]
            if tuple(value.shape) != shape or value.dtype != torch.float32:
                raise ValueError(f"{name} of the levels is of {value.dtype} and shape {list(value.shape)}")

    @property
    def grouping(self) -> str:
        """In words, where groups of classes have the signatures."""
        classes = len(self.groups)
        by = "their numbers (no classifier of so many was found)"
        if self._by_weights is not None and len(self._by_weights) == classes:
            by = "the classifier's weights"
        return f", signatures of {len(self.mix)} groups of {classes:,} classes by {by}" if classes else ""

    @property
    def num_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in TENSORS)

    def _signed(self, label: Tensor, num_classes: int) -> Tensor:
        """The signature that each sample has; a single one, which stays 0 and 1, where classes do not count."""
        self._begin(num_classes)
        label = label.to(self.mean.device)
        if len(self.groups):
            return self.groups[label]
        return label if len(self.mix) > 1 else torch.zeros_like(label)

    def _begin(self, num_classes: int) -> None:
        """Signatures of so many classes, or of groups of them, unless there are some already."""
        if len(self.mix):
            return
        number = num_classes if self.classes else 1
        if number > MOST_CLASSES:
            found = self._by_weights
            found = block_groups(number) if found is None or len(found) != number else found
            self.groups = found.to(self.mean.device)
            self._shares, number = shares_of(self.groups), int(self.groups.max()) + 1
        offset = self.mean.new_zeros(number, len(self.mean))
        self.signature, self.mix = torch.stack([offset, offset + 1]), self.mean.new_full((number,), 1 / number)
        self.mix, self.taught = self.mix if self._shares is None else self._shares, self.mean.new_zeros(number)
        self._cut()

    def _idle(self, sight: Sight) -> dict[int, Level]:
        """Layers that were not called."""
        return {at: self._levels[at] for at in range(len(self.sizes)) if at not in sight.moments}

    def _put_back(self, idle: Mapping[int, Level]) -> None:
        """Layers that were not called keep their levels."""
        self.mean, self.var, self.noise = self.mean.clone(), self.var.clone(), self.noise.clone()
        for at, level in idle.items():
            place = self._places[at]
            self.mean[place], self.var[place], self.noise[:, place] = level.mean, level.var, level.noise
        self._cut()

    def _expect(self, mix: Tensor) -> Tensor:
        """Mean and mean square of a mix of classes, in units of the level: [2, P]."""
        if len(self.mix) > 1:
            return (self.signature * mix[:, None]).sum(1)
        return torch.stack([torch.zeros_like(self.mean), torch.ones_like(self.mean)])

    def _average(self, of_group: Tensor) -> Tensor:
        """Over all classes, [K, P] to [P]."""
        return of_group.mean(0) if self._shares is None else self._shares @ of_group

    def _cut(self) -> None:
        """The vectors layer by layer, as every forward needs them; the rest once it is asked for."""
        self._lent = torch.split(self.mean, self.sizes), torch.split(self.var, self.sizes)
        for name in ("_levels", "_least_var"):
            vars(self).pop(name, None)

    @cached_property
    def _least_var(self) -> Tensor:
        return LEAST_VARIANCE * self.source_var

    @cached_property
    def _levels(self) -> list[Level]:
        noise, expected = (torch.split(part, self.sizes, 1) for part in (self.noise, self._expect(self.mix)))
        return [Level(*parts) for parts in zip(*self._lent, noise, expected, strict=True)]


class _Look(NamedTuple):
    """What the forward that holds the levels says of its samples."""

    counts: Tensor | None  # which samples count, [n]; all where None
    counted: int
    number: int  # of samples that count, with those that wait
    distance: float  # from the level
    noise: Tensor
    newness: float
    seen: dict[str, Tensor]  # of the last samples, whether they count or not
    mean: Tensor  # prediction of the samples that count, [C]


class _Verdict(NamedTuple):
    changes: dict[str, Any]  # of the state
    level: tuple[Tensor, Tensor] | None = None  # to predict with, unless it is the one there was


class _Trial:
    """One batch predicted with levels that jump, beside the level there is and, once away, the source's."""

    def __init__(self, levels: ClassStatistics, net: nn.Module, predict: Callable[[], Prediction], look: _Look) -> None:
        self.levels, self.net, self.predict, self.look = levels, net, predict, look

    def decide(self, prediction: Prediction) -> _Verdict:
        """What becomes of the levels, given the prediction that held them."""
        levels, look, now = self.levels, self.look, self._score(prediction)
        anew = look.distance > MORE * levels.refused and not levels.trying
        changes = {"since": 0, "tried": look.mean, "trying": 0, "gathered": levels.gathered[:, :0]}
        if not levels.trying:
            changes |= {"trials": levels.trials + 1, "in_hand": levels.in_hand - (not anew)}
        skew = skew_of(levels.mix, levels._shares)
        if not levels.away:
            skew = max(skew, skew_of(self._mix_of(now.mean), levels._shares))
        shallow, first = self._jump(0, skew, levels._half, levels.mix)
        evenness = evenness_of(shallow.mean, max(look.counted, WINDOW))
        jumped, second = self._jump(1, 1 - evenness, len(levels.sizes), self._mix_of(shallow.mean))
        if gain_of(shallow, jumped, evenness) < 0:
            jumped, second = shallow, first
        home, at_home = self._hold(levels.source_mean, levels.source_var) if levels.away else (now, look.distance)
        given_up = levels.away and look.distance > CHANGED
        now, before = (home, levels.evidence[:0]) if given_up else (now, levels.evidence[: 0 if anew else None])
        evidence = Evidence.of(now, shallow, jumped).after(before)
        if levels.trying + look.counted < WINDOW:
            gathered = torch.stack([self._gather(0, first), self._gather(1, second)], 1)
            changes |= {"trying": levels.trying + look.counted, "gathered": gathered, "evidence": evidence.row}
            return _Verdict(changes)
        at_source = at_home <= LOOK + CHANCE / look.counted  # where nothing would be tried
        back = levels.away and at_home < look.distance and (at_source or gain_of(jumped, home, evenness) >= 0)
        back = back and (given_up or gain_of(now, home, evenness) >= 0)
        if not back and (evidence.convincing or (given_up and evidence.gain > 0)):
            changes |= {"away": True, "jumps": levels.jumps + 1, **self._settled(0.0)}
            if look.newness < FRAMES:
                return _Verdict({**changes, "jumps": levels.jumps, "age": FRAMES_AGE})
            return _Verdict(changes, self._levels_of(second))
        if back or given_up:
            changes |= {"away": False, **self._settled(at_home)}
            changes |= {"evidence": evidence.row} if given_up else {}
            return _Verdict(changes, (levels.source_mean, levels.source_var))
        refused = {"refused": max(levels.refused, look.distance), "wait": min(2 * levels.wait, LAST_WAIT)}
        return _Verdict({**changes, **refused, "evidence": evidence.row})

    def _settled(self, refused: float) -> dict[str, Any]:
        """The level is another one: trials begin anew."""
        return {"refused": refused, "wait": FIRST_WAIT, "evidence": self.levels.evidence[:0], "age": 0.0}

    def _score(self, prediction: Prediction) -> Score:
        counts = self.look.counts
        return Score.of(prediction.logits if counts is None else prediction.logits[counts])

    def _mix_of(self, mean: Tensor) -> Tensor:
        """A mean prediction [C] as a mix of what has signatures, [K]."""
        levels, mean = self.levels, mean.to(self.levels.mean)
        if len(levels.groups):
            return mean.new_zeros(len(levels.mix)).index_add_(0, levels.groups, mean)
        return mean if len(levels.mix) > 1 else levels.mix

    def _jump(self, number: int, skew: float, layers: int, mix: Tensor) -> tuple[Score, Sight]:
        """Predict with the first layers jumping."""
        levels = self.levels
        gathered = levels.gathered[:, number] if levels.trying else levels.signature[:, 0]
        plan = Plan(skew, layers, levels._expect(mix), self.look.noise, gathered, levels.trying)
        sight = Sight(levels.mean, levels.var, plan, self.look.counts)
        with levels.watching(self.net, sight):
            return self._score(self.predict()), sight

    def _hold(self, mean: Tensor, var: Tensor) -> tuple[Score, float]:
        """Predict with other levels, and how far samples are from these."""
        levels, sight = self.levels, Sight(mean, var)
        with levels.watching(self.net, sight):
            score = self._score(self.predict())
        found, held = [], []
        for at in range(levels._half):
            if at in sight.moments:
                place = levels._places[at]
                found.append(_counted(torch.stack(sight.moments[at]), self.look.counts))
                held.append(
                    levels._levels[at]._replace(mean=mean[place], var=var[place], noise=self.look.noise[:, place])
                )
        return score, mean_distance(found, held)

    def _gather(self, number: int, sight: Sight) -> Tensor:
        """The moments of all samples of this trial so far, [2, P]."""
        levels, count = self.levels, self.look.counted
        rows = _counted(sight.rows(levels._idle(sight), len(next(iter(sight.moments.values()))[0])), self.look.counts)
        seen = rows.mean(1)
        return levels.gathered[:, number].lerp(seen, count / (count + levels.trying)) if levels.trying else seen

    def _levels_of(self, sight: Sight) -> tuple[Tensor, Tensor]:
        held = self.levels._levels
        after = [sight.levels.get(at, level) for at, level in enumerate(held)]
        return torch.cat([level.mean for level in after]), torch.cat([level.var for level in after])


def _counted(moments: Tensor, counts: Tensor | None) -> Tensor:
    """Those of the samples that count, where the rows are the samples: [2, n, c]."""
    return moments if counts is None or moments.shape[1] != len(counts) else moments[:, counts]


def _repeated(rows: Tensor, known: int) -> Tensor:
    """Which rows after the first `known` ones stand before as well, [n]: copies up to rounding."""
    few, limit = max(1, PAIRS // rows.numel()), SAME * (rows.abs() + SAME)
    close = [((part[:, None] - rows).abs() <= limit).all(2) for part in torch.split(rows[known:], few)]
    return torch.cat(close).tril(known - 1).any(1)


def _buffer(layer: _BatchNorm, name: str) -> Tensor:
    value = layer._buffers[name]
    assert value is not None
    return value


def _lend(layer: _BatchNorm, mean: Tensor, var: Tensor) -> None:
    dtype = _buffer(layer, "running_mean").dtype
    if dtype is not mean.dtype:
        mean, var = mean.to(dtype), var.to(dtype)
    layer._buffers["running_mean"], layer._buffers["running_var"] = mean, var
