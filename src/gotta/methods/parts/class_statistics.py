"""Statistics of BatchNorm that follow a change of domain at once, and that the mix of classes does not move.

Every layer has a *level*: the mean and variance it normalises with. It starts at the source's and moves in two ways.

- **Inside the forward, at a change.** The shallow half of the layers compares what it sees with its level, in units of
  the noise of single samples. Where that is too far off, this layer and all later ones jump to what they see, each
  after the ones before it have jumped: the shift of deep layers is mostly a cascade of the shallow ones.
- **After the forward, slowly.** The level becomes the long average of what was seen since the last change.

Frames of a video say nothing of the domain that one of them does not say: a new scene looks like a new domain. Where
successive samples are much more alike than those farther apart, no layer jumps.

With `classes` each class has a *signature*: its usual offset from the level, and its usual mean square. What the
classes of a batch explain does not move the level. Of very many classes, groups have signatures. Without `classes`
these are running statistics with a gate.

Nothing is kept in the network: `applied` lends it the levels as constants, `watching` looks on during one prediction,
and what it saw counts only once `learn` is called with the labels.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property, partial
from math import isfinite
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.methods.parts.class_groups import MOST_CLASSES, block_groups, group_classes, shares_of, skew_of
from gotta.methods.parts.level_jumps import (
    CHANGED,
    FRAMES,
    LEAST_SHARE,
    SETTLE,
    WINDOW,
    Gathered,
    Level,
    Moments,
    Sight,
    deviations,
    gather,
    jump,
    measure_newness,
)
from gotta.methods.parts.normalization import sample_moments, seen_before, tracked_norms

UNIT = 64  # samples that the next two are for
FIRST, SKEWED = 1.0, 40.0  # units that a level counts for after a jump, and more if the last samples are of one class
SLOWEST = 0.01  # share by which a level moves per unit, in the long run
LEARN = 0.003  # share by which a signature moves per sample of its class
MIX = 16  # samples that the expected mix of classes counts for
STEADY = 256  # samples that the newness of samples counts for
NOISE = 0.01  # share by which the noise follows one sample
USUAL_NOISE, LEAST_NOISE = 0.1, 1e-4  # until enough samples tell, and ever
LEAST_VARIANCE = 0.01  # of the source's
TENSORS = ("mean", "var", "noise", "age", "signature", "mix", "groups", "waiting", "labels")
NUMBERS = ("settled", "samples", "jumps", "newness")


class ClassStatistics:
    """The levels of all BatchNorm layers of a network, side by side in vectors over all P channels."""

    def __init__(self, net: nn.Module, classes: bool) -> None:
        layers = tracked_norms(net)
        self.classes, self.sizes = classes, [layer.num_features for layer in layers]
        self.mean = torch.cat([_buffer(layer, "running_mean").float() for layer in layers])  # [P]
        self.var = torch.cat([_buffer(layer, "running_var").float() for layer in layers])  # [P]
        self.least_var = LEAST_VARIANCE * self.var
        self.noise = self.mean.new_full((2, len(self.mean)), USUAL_NOISE)
        self.age = self.mean.new_zeros(len(layers))  # units since the last change, [L]
        # Offset and mean square of each class or group, [2, K, P], and the mix of the last predictions, [K]; the group
        # of each class, [C], where groups have the signatures. All of them once the number of classes is known.
        self.signature = self.mean.new_zeros(2, 0, len(self.mean))
        self.mix = self.mean.new_zeros(0)
        self.groups = torch.zeros(0, dtype=torch.int64, device=self.mean.device)
        self._by_weights = group_classes(net) if classes else None
        self._shares: Tensor | None = None  # of each group in the classes, [K], unless all have the same
        # Moments [2, n, P] and labels [n] of samples from small batches, until there are enough to compare and learn.
        self.waiting, self.labels = self.mean.new_zeros(2, 0, len(self.mean)), torch.zeros_like(self.groups)
        self.settled = self.samples = self.jumps = 0
        self.newness = 1.0  # how unlike successive samples are: 1 where each is for itself, near 0 in a video
        self.gathered: dict[int, Gathered] = {}  # by layer, while a jump is made of several small batches
        self._compiled = any(hasattr(module, "_orig_mod") for module in net.modules())
        self._sight: Sight | None = None
        self._known: list[tuple[nn.Module, list[_BatchNorm]]] = []
        ends = np.cumsum([0, *self.sizes]).tolist()
        self._places = [slice(*ends[at : at + 2]) for at in range(len(layers))]
        self._of_channel = torch.arange(len(layers)).repeat_interleave(torch.tensor(self.sizes)).to(self.mean.device)
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
    def watching(self, net: nn.Module) -> Iterator[None]:
        """Look at a prediction of this network, and let its layers jump where the domain has changed."""
        self._sight = sight = Sight(open=0 < self.settled < SETTLE, newness=self.newness)
        # A compiled network may have been traced without anybody looking on.
        eager: AbstractContextManager[Any] = (
            torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        )
        with seen_before(self._layers_of(net), partial(self._see, sight)), eager:
            yield

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Forwards inside are lent the levels as what was watched has left them, and are not looked at themselves."""
        sight = self._sight or Sight(open=False, newness=self.newness)
        sight.resting = True
        try:
            yield
        finally:
            sight.resting = False

    def _see(self, sight: Sight, at: int, layer: _BatchNorm, x: Tensor) -> None:
        if not sight.resting:
            self._look(sight, at, x)
        if at in sight.levels:
            _lend(layer, *sight.levels[at][:2])

    def _look(self, sight: Sight, at: int, x: Tensor) -> None:
        moments = sample_moments(x.detach() if x.requires_grad else x)
        first, shallow = not sight.moments, len(sight.moments) < max(1, len(self.sizes) // 2)
        if sight.note(at, moments):
            enough = len(self.labels) + len(moments[0]) >= WINDOW
            if first and enough:
                self._compare_samples(sight, at, moments)
            shallow = shallow and sight.newness >= FRAMES
            if sight.open or (enough and (shallow or not self.settled)):
                self._consider(sight, at, moments, shallow and enough)

    def _compare_samples(self, sight: Sight, at: int, moments: Moments) -> None:
        """Whether successive samples are like frames of a video, by what the first layer sees of the last ones."""
        rows = self._with_waiting(at, torch.stack(moments))
        share = rows.shape[1] / (rows.shape[1] + STEADY) if self.settled else 1.0
        sight.newness += share * (measure_newness(rows) - sight.newness)

    def _with_waiting(self, at: int, found: Tensor) -> Tensor:
        """What a layer saw, [2, n, c], after what it saw of the samples that wait."""
        return torch.cat([self.waiting[:, :, self._places[at]], found], 1) if len(self.labels) else found

    def _consider(self, sight: Sight, at: int, moments: Moments, comparing: bool) -> None:
        """Whether the domain has changed, and where to the level goes then. The first samples count as a change."""
        found, level = torch.stack(moments), self._levels[at]
        window, count = self._with_waiting(at, found), found.shape[1]
        together = window.shape[1]
        if not self.settled and together >= WINDOW:
            chance = deviations(window, level.mean, level.var).var(1, correction=0)
            level = sight.levels[at] = level._replace(noise=chance.clamp_min(LEAST_NOISE))
        if comparing and not sight.open:
            if self.settled:
                sight.compare(window.sum(1) / together, level, CHANGED + 2 / together)
            sight.open = sight.open or not self.settled
        if sight.open:
            before = None if sight.changed else self.gathered.get(at)
            sight.gathered[at] = gather(before, level, found.mean(1), count)
            sight.levels[at] = jump(sight.gathered[at], count, self._skew, self.least_var[self._places[at]])

    @torch.no_grad()
    def learn(self, label: Tensor, num_classes: int) -> None:
        """What was watched becomes part of the levels, now that its labels are known."""
        sight, self._sight = self._sight, None
        if sight is None or not sight.moments:
            return
        idle = {at: self._levels[at] for at in range(len(self.sizes)) if at not in sight.moments}
        with torch.autocast(self.mean.device.type, enabled=False):
            found = sight.rows(idle, len(label))
            if isfinite(float(found.sum())):
                self._take(sight, found, self._signed(label, num_classes))
                self._put(idle)

    def state_dict(self) -> dict[str, Any]:
        gathered = {
            str(at): {**part.level._asdict(), "moments": part.moments, "number": part.number}
            for at, part in self.gathered.items()
        }
        return {name: getattr(self, name) for name in (*TENSORS, *NUMBERS)} | {"gathered": gathered}

    def load_state_dict(self, state: Mapping[str, Any], net: nn.Module) -> None:
        """Go on from a state, where the network is now."""
        device = _buffer(tracked_norms(net)[0], "running_mean").device
        for name in TENSORS:
            setattr(self, name, state[name].to(device))
        for name in NUMBERS:
            setattr(self, name, state[name])
        self.gathered = {}
        for at, part in state["gathered"].items():
            level = Level(*(part[name].to(device) for name in Level._fields))
            self.gathered[int(at)] = Gathered(level, part["moments"].to(device), part["number"])
        self.least_var, self._of_channel = self.least_var.to(device), self._of_channel.to(device)
        self._sight, self._shares = None, shares_of(self.groups)
        self._cut()

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
        """What the state takes, besides what is gathered for a few samples after a change."""
        return sum(getattr(self, name).nbytes for name in TENSORS)

    def _signed(self, label: Tensor, num_classes: int) -> Tensor:
        """The signature that each sample has; a single one, which stays 0 and 1, where classes do not count."""
        if not len(self.mix):
            number = num_classes if self.classes else 1
            if number > MOST_CLASSES:
                found = self._by_weights
                found = block_groups(number) if found is None or len(found) != number else found
                self.groups = found.to(self.mean.device)
                self._shares, number = shares_of(self.groups), int(self.groups.max()) + 1
            offset = self.mean.new_zeros(number, len(self.mean))
            self.signature, self.mix = torch.stack([offset, offset + 1]), self.mean.new_full((number,), 1 / number)
            self.mix = self.mix if self._shares is None else self._shares
        label = label.to(self.mean.device)
        if len(self.groups):
            return self.groups[label]
        return label if len(self.mix) > 1 else torch.zeros_like(label)

    def _put(self, changed: Mapping[int, Level]) -> None:
        """Other levels for some layers: those that moved inside the forward, or that were not called."""
        if changed:
            levels = [changed[at] if at in changed else self._levels[at] for at in range(len(self.sizes))]
            self.mean, self.var = torch.cat([a.mean for a in levels]), torch.cat([a.var for a in levels])
            self.noise, self.age = torch.cat([a.noise for a in levels], 1), torch.stack([a.age for a in levels])
            self._cut()

    def _take(self, sight: Sight, found: Tensor, group: Tensor) -> None:
        """Learn from samples with those that wait, or let them wait while there are few and the domain stays."""
        count, before = len(group), (self.waiting, self.labels)
        self.samples += count
        if sight.changed and len(self.labels):  # those were of the level before
            self._move(*before)
            before = (found[:, :0], group[:0])
        if len(before[1]):
            found, group = torch.cat([before[0], found], 1), torch.cat([before[1], group])
        learning = sight.open or len(group) >= WINDOW
        if learning:
            self._put(sight.levels)
            self._move(found, group)
        self.waiting, self.labels = (found[:, :0], group[:0]) if learning else (found, group)
        self.jumps += sight.changed
        self.newness = sight.newness
        if learning and not sight.open:
            self.settled = SETTLE
        if sight.open:
            self.settled = count if sight.changed else self.settled + count
            self.gathered = sight.gathered if self.settled < SETTLE else {}

    def _move(self, found: Tensor, group: Tensor) -> None:
        """Levels, noise, signatures and mix follow the samples: found[2, n, P], group[n]."""
        count = len(group)
        member = self.mean.new_zeros(count, len(self.mix)).scatter_(1, group[:, None], 1.0)  # [n, K]
        of_group = member.sum(0)
        share = of_group / count
        seen = deviations(found, self.mean, self.var)
        average, expected = seen.mean(1), self._expect(share)
        chance = (seen - self.signature[:, group]).square().mean(1)
        noise = self.noise.lerp(torch.minimum(chance, 4 * self.noise), 1 - (1 - NOISE) ** count)
        self.mix = self.mix.lerp(share, count / (count + MIX))
        rate = (1 / (self.age + FIRST + SKEWED * skew_of(self.mix, self._shares))).clamp_min(SLOWEST)
        rate = (1 - (1 - rate) ** (count / UNIT))[self._of_channel]
        excess = (average[1] / expected[1].clamp_min(LEAST_SHARE)).clamp(0.05, 20) - 1
        self.mean = self.mean + rate * self.var.sqrt() * (average[0] - expected[0])
        self.var = torch.maximum(self.var * (1 + rate * excess), self.least_var)
        self.noise = noise.clamp_min(LEAST_NOISE)
        self.age = self.age + count / UNIT
        if len(self.mix) > 1:
            of_class = member.T @ seen / of_group.clamp_min(1)[:, None]
            self.signature = self.signature.lerp(of_class, (1 - (1 - LEARN) ** of_group)[:, None])
            offset, square = self.signature
            self.signature = torch.stack([offset - self._average(offset), square / self._average(square)])
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
        for name in ("_expected", "_skew", "_levels"):
            vars(self).pop(name, None)

    @cached_property
    def _expected(self) -> Tensor:
        return self._expect(self.mix)

    @cached_property
    def _skew(self) -> float:
        return skew_of(self.mix, self._shares) if len(self.mix) else 1.0

    @cached_property
    def _levels(self) -> list[Level]:
        noise, expected = (torch.split(part, self.sizes, 1) for part in (self.noise, self._expected))
        return [Level(*parts) for parts in zip(*self._lent, noise, expected, self.age.unbind(), strict=True)]


def _buffer(layer: _BatchNorm, name: str) -> Tensor:
    value = layer._buffers[name]
    assert value is not None
    return value


def _lend(layer: _BatchNorm, mean: Tensor, var: Tensor) -> None:
    dtype = _buffer(layer, "running_mean").dtype
    if dtype is not mean.dtype:
        mean, var = mean.to(dtype), var.to(dtype)
    layer._buffers["running_mean"], layer._buffers["running_var"] = mean, var
