"""Statistics of BatchNorm that follow a change of domain at once, and that the mix of classes does not move.

Every layer has a *level*: the mean and variance it normalises with. It starts at the source's and moves in two ways.

- **Inside the forward, at a change.** The shallow half of the layers compares what it sees with its level, in units of
  the noise of single samples. Where that is too far off, this layer and all later ones jump to what they see, each
  after the ones before it have jumped: the shift of deep layers is mostly a cascade of the shallow ones.
- **After the forward, slowly.** The level becomes the long average of what was seen since the last change.

With `classes` each class has a *signature*: its usual offset from the level, and its usual mean square. What the
classes of a batch explain does not move the level. Without, these are running statistics with a gate.

Nothing is kept in the network: `applied` lends it the levels as constants, `watching` looks on during one prediction,
and what it saw counts only once `learn` is called with the labels.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.methods.parts.level_jumps import (
    CHANGED,
    LEAST_SHARE,
    SETTLE,
    WINDOW,
    Gathered,
    Level,
    Sight,
    deviations,
    gather,
    jump,
)
from gotta.methods.parts.normalization import batch_norms, sample_moments

UNIT = 64  # samples that the next two are for
FIRST, SKEWED = 1.0, 40.0  # units that a level counts for after a jump, and more if the last samples are of one class
UNKNOWN_SKEW = 0.2  # of the classes, where they do not count
SLOWEST = 0.01  # share by which a level moves per unit, in the long run
LEARN = 0.003  # share by which a signature moves per sample of its class
MIX = 16  # samples that the expected mix of classes counts for
NOISE = 0.01  # share by which the noise follows one sample
USUAL_NOISE, LEAST_NOISE = 0.1, 1e-4  # until enough samples tell, and ever
LEAST_VARIANCE = 0.01  # of the source's
MOST_CLASSES = 128  # with more there are no signatures, which take 8 bytes per class and channel
TENSORS = ("mean", "var", "noise", "age", "signature", "mix", "window")
NUMBERS = ("windowed", "settled", "samples", "jumps")


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
        # Offset and mean square of each class, [2, K, P], and the mix of the last predictions, [K]: once K is known.
        self.signature = self.mean.new_zeros(2, 0, len(self.mean))
        self.mix = self.mean.new_zeros(0)
        self.window = self.mean.new_zeros(2, len(self.mean))  # sums over the samples since the last comparison
        self.windowed = self.settled = self.samples = self.jumps = 0
        self.gathered: dict[int, Gathered] = {}  # by layer, while a jump is made of several small batches
        self._compiled = any(hasattr(module, "_orig_mod") for module in net.modules())
        self._sight: Sight | None = None
        self._known: list[tuple[nn.Module, list[_BatchNorm]]] = []
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
            for layer, level in zip(layers, self._levels, strict=True):
                _lend(layer, level)
                layer.training = False
            yield
        finally:
            for layer, (mean, var, training) in zip(layers, before, strict=True):
                layer._buffers["running_mean"], layer._buffers["running_var"] = mean, var
                layer.training = training

    @contextmanager
    def watching(self, net: nn.Module) -> Iterator[None]:
        """Look at a prediction of this network, and let its layers jump where the domain has changed."""
        self._sight = sight = Sight(open=self.settled < SETTLE)
        hooks = [
            layer.register_forward_pre_hook(partial(self._see, sight, at))
            for at, layer in enumerate(self._layers_of(net))
        ]
        # A compiled network may have been traced without the hooks.
        eager: AbstractContextManager[Any] = (
            torch.compiler.set_stance("force_eager") if self._compiled else nullcontext()
        )
        try:
            with eager:
                yield
        finally:
            for hook in hooks:
                hook.remove()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Forwards inside are lent the levels as what was watched has left them, and are not looked at themselves."""
        sight = self._sight or Sight(open=False)
        sight.resting = True
        try:
            yield
        finally:
            sight.resting = False

    def _see(self, sight: Sight, at: int, layer: _BatchNorm, inputs: tuple[Tensor, ...]) -> None:
        if not sight.resting:
            self._look(sight, at, inputs[0].detach())
        if at in sight.levels:
            _lend(layer, sight.levels[at])

    def _look(self, sight: Sight, at: int, x: Tensor) -> None:
        found, level = sample_moments(x), self._levels[at]
        if sight.note(at, found):
            count = found.shape[1]
            if not self.samples and count >= WINDOW // 2:
                chance = deviations(found, level.mean, level.var).var(1, correction=0)
                level = sight.levels[at] = level._replace(noise=chance.clamp_min(LEAST_NOISE))
            shallow = len(sight.moments) <= max(1, len(self.sizes) // 2)
            if shallow and not sight.open and (together := self.windowed + count) >= WINDOW:
                sight.compare((self._windows[at] + found.sum(1)) / together, level, CHANGED + 2 / together)
            if sight.open:
                before = None if sight.changed else self.gathered.get(at)
                sight.gathered[at] = gather(before, level, found.mean(1), count)
                sight.levels[at] = jump(sight.gathered[at], count, self._skew, self._least_vars[at])

    @torch.no_grad()
    def learn(self, label: Tensor, num_classes: int) -> None:
        """What was watched becomes part of the levels, now that its labels are known."""
        sight, self._sight = self._sight, None
        if sight is None or not sight.moments:
            return
        before = self._levels
        with torch.autocast(self.mean.device.type, enabled=False):
            found = self._rows(sight, len(label))
            if bool(torch.isfinite(found).all()):
                self._put(sight.levels)
                self._move(found, self._groups(label, num_classes))
                self._go_on(sight, found)
                self._put({at: level for at, level in enumerate(before) if at not in sight.moments})

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
        self.least_var, self._sight = self.least_var.to(device), None
        self._cut()

    @property
    def num_bytes(self) -> int:
        """What the state takes, besides what is gathered for a few samples after a change."""
        return sum(getattr(self, name).nbytes for name in TENSORS)

    def _groups(self, label: Tensor, num_classes: int) -> Tensor:
        """The signature that each sample has; a single one, which stays 0 and 1, where classes do not count."""
        if not len(self.mix):
            groups = num_classes if self.classes and num_classes <= MOST_CLASSES else 1
            offset = self.mean.new_zeros(groups, len(self.mean))
            self.signature, self.mix = torch.stack([offset, offset + 1]), self.mean.new_full((groups,), 1 / groups)
        label = label.to(self.mean.device)
        return label if len(self.mix) > 1 else torch.zeros_like(label)

    def _rows(self, sight: Sight, count: int) -> Tensor:
        """What all layers saw of each sample, [2, n, P].

        A layer whose rows are not the samples gives their mean to each; one that was not called, what it expects.
        """
        rows = []
        for at, level in enumerate(self._levels):
            found = sight.moments.get(at)
            if found is None:
                mean, square = level.expected
                spread = level.mean + mean * level.var.sqrt()
                square = level.var * square + level.mean * (2 * spread - level.mean)
                found = torch.stack([spread, square])[:, None]
            elif found.shape[1] != count:
                found = found.mean(1, keepdim=True)
            rows.append(found.expand(-1, count, -1))
        return torch.cat(rows, 2)

    def _put(self, changed: Mapping[int, Level]) -> None:
        """Other levels for some layers: those that moved inside the forward, or that were not called."""
        if changed:
            levels = [changed.get(at, level) for at, level in enumerate(self._levels)]
            self.mean, self.var = torch.cat([a.mean for a in levels]), torch.cat([a.var for a in levels])
            self.noise, self.age = torch.cat([a.noise for a in levels], 1), torch.stack([a.age for a in levels])
            self._cut()

    def _move(self, found: Tensor, group: Tensor) -> None:
        """Levels, noise, signatures and mix follow the samples: found[2, n, P], group[n]."""
        count = len(group)
        member = F.one_hot(group, len(self.mix)).to(self.mean)  # [n, K]
        of_group = member.sum(0)
        share = of_group / count
        seen = deviations(found, self.mean, self.var)
        average, expected = seen.mean(1), self._expect(share)
        chance = (seen - self.signature[:, group]).square().mean(1)
        noise = self.noise.lerp(torch.minimum(chance, 4 * self.noise), 1 - (1 - NOISE) ** count)
        self.mix = self.mix.lerp(share, count / (count + MIX))
        rate = (1 / (self.age + FIRST + SKEWED * skew_of(self.mix))).clamp_min(SLOWEST)
        rate = (1 - (1 - rate) ** (count / UNIT)).repeat_interleave(self._widths)
        excess = (average[1] / expected[1].clamp_min(LEAST_SHARE)).clamp(0.05, 20) - 1
        self.mean = self.mean + rate * self.var.sqrt() * (average[0] - expected[0])
        self.var = torch.maximum(self.var * (1 + rate * excess), self.least_var)
        self.noise = noise.clamp_min(LEAST_NOISE)
        self.age = self.age + count / UNIT
        if len(self.mix) > 1:
            of_class = member.T @ seen / of_group.clamp_min(1)[:, None]
            self.signature = self.signature.lerp(of_class, (1 - (1 - LEARN) ** of_group)[:, None])
            offset, square = self.signature
            self.signature = torch.stack([offset - offset.mean(0), square / square.mean(0)])

    def _go_on(self, sight: Sight, found: Tensor) -> None:
        """Count the samples of a window or of a jump, and start the next one."""
        count = found.shape[1]
        self.samples += count
        self.jumps += sight.changed
        if sight.open:
            self.settled = count if sight.changed else self.settled + count
            self.gathered = sight.gathered if self.settled < SETTLE else {}
        full = sight.open or self.windowed + count >= WINDOW
        self.windowed = 0 if full else self.windowed + count
        self.window = torch.zeros_like(self.window) if full else self.window + found.sum(1)
        self._cut()

    def _expect(self, mix: Tensor) -> Tensor:
        """Mean and mean square of a mix of classes, in units of the level: [2, P]."""
        if len(self.mix) > 1:
            return (self.signature * mix[:, None]).sum(1)
        return torch.stack([torch.zeros_like(self.mean), torch.ones_like(self.mean)])

    def _cut(self) -> None:
        """The vectors layer by layer, as a forward needs them."""
        vectors = (self.mean, self.var, self.noise, self._expect(self.mix))
        parts = zip(*(torch.split(vector, self.sizes, -1) for vector in vectors), self.age.unbind(), strict=True)
        self._levels = [Level(*part) for part in parts]
        self._skew = skew_of(self.mix) if len(self.mix) else 1.0
        self._windows = torch.split(self.window, self.sizes, -1)
        self._least_vars = torch.split(self.least_var, self.sizes)
        self._widths = torch.tensor(self.sizes, device=self.mean.device)


def skew_of(mix: Tensor) -> float:
    """0 for an even mix of classes, 1 for a single class."""
    classes = len(mix)
    return UNKNOWN_SKEW if classes == 1 else float(classes * mix.square().sum() - 1) / (classes - 1)


def tracked_norms(net: nn.Module) -> list[_BatchNorm]:
    """The BatchNorm layers that have statistics of the source; the others use those of each batch whatever is done."""
    return [layer for layer in batch_norms(net) if layer.running_mean is not None]


def _buffer(layer: _BatchNorm, name: str) -> Tensor:
    value = layer._buffers[name]
    assert value is not None
    return value


def _lend(layer: _BatchNorm, level: Level) -> None:
    for name, value in (("running_mean", level.mean), ("running_var", level.var)):
        layer._buffers[name] = value.to(_buffer(layer, name).dtype)
