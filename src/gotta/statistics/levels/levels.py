"""What all layers of a network normalise with, side by side in vectors, and what is known of the samples so far.

This is the state that looking, trials and learning share. Nothing is kept in the network: `predicting` lends it the
levels as constants, and `watching` looks at what each layer sees.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.safe_text import tell_number
from gotta.state import Back, Reader, count, flag, number, read_each, set_values, tensor
from gotta.statistics.interface import Statistics
from gotta.statistics.levels.class_groups import MOST_CLASSES, block_groups, group_classes, shares_of
from gotta.statistics.levels.look import FIRST_WAIT, Level, Sight, Yardstick
from gotta.statistics.normalization import eager_if, is_compiled, own_levels, sample_moments, seen_before, tracked_norms
from gotta.types import computed_once

TRIALS = 4.0  # trials in hand at first: each costs two to four forwards
USUAL_NOISE = 0.1  # of single samples, until enough of them tell
UNKNOWN_SKEW = 0.2  # of the classes, where they do not count
LEAST_VARIANCE = 0.01  # of the source's, so that no channel is blown up
TENSORS = (
    *("mean", "var", "noise", "signature", "taught", "mix", "groups", "waiting", "labels", "recent"),
    *("distances", "evidence", "tried", "gathered"),
)
KINDS = {**dict.fromkeys(("labels", "groups"), torch.int64), **dict.fromkeys(("evidence", "tried"), torch.float64)}
SHARED = ("signature", "taught")  # what streams may have in common
STATE: Mapping[str, Reader] = {
    **dict.fromkeys(TENSORS, tensor),
    **dict.fromkeys(("away", "known"), flag),
    **dict.fromkeys(("samples", "jumps", "trials", "wait", "since", "trying"), count),
    **dict.fromkeys(("age", "newness", "refused", "in_hand", "home"), number),
}


class Watched(NamedTuple):
    """The forward that answered, and what it leaves behind once its labels are known."""

    sight: Sight
    counts: Tensor | None  # which samples count, [n]; all where None
    strange: bool  # so far off that they say nothing of the source's level
    changes: dict[str, Any]  # of the state


def _in_book(name: str) -> Any:
    """A part of the state that is kept in `book`, which streams may have in common."""
    return property(lambda levels: levels.book[name], lambda levels, value: levels.book.update({name: value}))


class Levels(Statistics):
    """The levels of all BatchNorm layers of a network, as vectors over all P channels. Without BatchNorm, no numbers.

    `classes` says whether these count.
    """

    watches = True
    state: ClassVar[Mapping[str, Reader]] = STATE
    classes: ClassVar[bool]
    var: Tensor
    signature: Tensor = _in_book("signature")  # offset and mean square of each class or group, [2, K, P]
    taught: Tensor = _in_book("taught")  # the samples that each was learned from, [K]

    def attach(self, net: nn.Module) -> None:
        layers = tracked_norms(net)
        self.net, self.sizes = net, [layer.num_features for layer in layers]
        self.mean, self.var = self.source_mean, self.source_var = [part.float() for part in own_levels(net)]  # [P]
        self.noise = self.mean.new_full((2, len(self.mean)), USUAL_NOISE)
        self.age = 0.0  # units since the last change
        # Signatures, and the mix of the last predictions, [K]; the group of each class, [C], where groups have the
        # signatures. All of them once the number of classes is known.
        self.book = {"signature": self.mean.new_zeros(2, 0, len(self.mean)), "taught": self.mean.new_zeros(0)}
        self.mix = self.mean.new_zeros(0)
        self.groups = torch.zeros(0, dtype=torch.int64, device=self.mean.device)
        self._by_weights = group_classes(net) if self.classes else None
        self.shares: Tensor | None = None  # of each group in the classes, [K], unless all have the same
        # Moments [2, n, P] and labels [n] of samples from small batches, until there are enough to compare and learn.
        self.waiting, self.labels = self.mean.new_zeros(2, 0, len(self.mean)), torch.zeros_like(self.groups)
        self.recent = self.mean.new_zeros(0, 2 * sum(self.sizes[:1]))  # what the first layer saw of the last samples
        self.distances = self.mean.new_zeros(0)  # how far each of them was from the level
        # Evidence of the trials that have failed; the mean prediction of the last one, [C]; and, while a trial is made
        # of several small batches, the moments of those so far in its two forwards, [2, 2, P], and their number.
        self.evidence = self.tried = self.mean.new_zeros(0).double()
        self.gathered, self.trying = self.mean.new_zeros(2, 0, len(self.mean)), 0
        self.away = self.known = False  # a change was found; the noise is known
        self.samples = self.jumps = self.trials = 0
        self.newness = 1.0  # how unlike successive samples are: 1 where each is for itself, near 0 in a video
        self.home = 0.0  # how far the network's own statistics are off at home, where clean samples have told
        self.refused, self.wait, self.since, self.in_hand = 0.0, FIRST_WAIT, FIRST_WAIT, TRIALS
        self._compiled = is_compiled(net)
        self.watched: Watched | None = None
        self.noted: Any = None  # of the next samples, in a forward that was made ahead
        self._known: dict[nn.Module, list[_BatchNorm]] = {}
        ends = np.cumsum([0, *self.sizes]).tolist()
        self.places = [slice(*ends[at : at + 2]) for at in range(len(layers))]
        self.half = max(1, len(layers) // 2)
        self.shallow = slice(ends[: self.half + 1][-1])
        deep = max(1, len(layers) - 1 - self.half)
        self.depths = [max(0.0, (at - self.half) / deep) for at in range(len(layers))]
        self.depth = (
            torch.tensor(self.depths).repeat_interleave(torch.tensor(self.sizes, dtype=torch.long)).to(self.mean)
        )
        self.cut()

    def __copy__(self) -> Self:
        """Levels of the same network that go their own way."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self), book=self.book if self.shared else copy(self.book))
        return made

    @property
    def variances(self) -> Tensor:
        return self.var

    @property
    def domain(self) -> int | None:
        return (self.jumps + 1 if self.away else 0) if self.sizes else None

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor]:
        return self.mean, self.var

    def note(self, seen: Any) -> None:
        self.noted = seen

    def _layers_of(self, net: nn.Module) -> list[_BatchNorm]:
        """Looked for once: walking through the modules takes as long as a small layer."""
        if net not in self._known:
            self._known[net] = tracked_norms(net)
        return self._known[net]

    @contextmanager
    def predicting(self, net: nn.Module, moving: bool = True) -> Iterator[None]:
        """This network normalises with the levels, which stay as they are."""
        layers = self._layers_of(net)
        held = [layer._buffers for layer in layers]
        before = [(buffers["running_mean"], buffers["running_var"]) for buffers in held]
        training = [layer for layer in layers if layer.training]
        try:
            for layer in training:
                layer.training = False
            for buffers, mean, var in zip(held, *self._lent, strict=True):
                _lend(buffers, mean, var)
            yield
        finally:
            for buffers, own in zip(held, before, strict=True):
                buffers["running_mean"], buffers["running_var"] = own
            for layer in training:
                layer.training = True

    training = predicting

    @contextmanager
    def watching(self, net: nn.Module, sight: Sight | None = None) -> Iterator[Sight]:
        """Look at a prediction of this network, which normalises with the levels of `sight`."""
        sight = self.begin_sight(Sight(self.mean, self.var) if sight is None else sight)
        with seen_before(self._layers_of(net), partial(self._see, sight)), eager_if(self._compiled):
            yield sight

    def begin_sight(self, sight: Sight) -> Sight:
        if self._cut_with is not self.signature:  # another stream has learned meanwhile
            self.cut()
        self.watched = Watched(sight, None, False, {})
        return sight

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Forwards inside are lent the levels as what was watched has left them, and are not looked at themselves."""
        sight = Sight(self.mean, self.var) if self.watched is None else self.watched.sight
        sight.resting = True
        try:
            yield
        finally:
            sight.resting = False

    def _see(self, sight: Sight, at: int, layer: _BatchNorm, x: Tensor) -> None:
        if not sight.resting:
            moments = sample_moments(x.detach() if x.requires_grad else x)
            if sight.note(at, moments) and sight.jump is not None and at < sight.jumping:
                sight.levels[at] = sight.jump(at, moments)
        if at in sight.levels:
            _lend(layer._buffers, *sight.levels[at][:2])
        elif sight.mean is not self.mean:
            _lend(layer._buffers, sight.mean[self.places[at]], sight.var[self.places[at]])

    def record(self) -> Back:
        saved = self.state_dict()  # whose tensors are exchanged, never changed in place
        return lambda: self.load_state_dict(saved)

    def state_dict(self) -> dict[str, Any]:
        return super().state_dict() if self.sizes else {}

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """Go on from a state, where the network is now. Raises unless it is one of such a network."""
        if not self.sizes:
            return
        found = read_each(self.state, saved)
        self._check(found)
        device = own_levels(self.net)[0].device
        set_values(self, {name: value.to(device) if name in TENSORS else value for name, value in found.items()})
        for name in ("source_mean", "source_var", "depth"):
            setattr(self, name, getattr(self, name).to(device))
        self.watched = None
        self.shares = shares_of(self.groups)
        self.cut()

    def _check(self, found: Mapping[str, Any]) -> None:
        """Raises unless tensors go together."""
        every, kinds, small = len(self.source_mean), len(found["taught"]), 2 * sum(self.sizes[:1])
        shapes = {"mean": (every,), "var": (every,), "noise": (2, every), "signature": (2, kinds, every)}
        shapes |= {"taught": (kinds,), "mix": (kinds if len(found["mix"]) else 0,)}
        shapes |= {"waiting": (2, len(found["labels"]), every)}
        shapes |= {"recent": (len(found["recent"]), small), "gathered": (2, 2 if found["trying"] else 0, every)}
        shapes |= {name: (len(found[name]),) for name in ("labels", "groups", "distances", "evidence", "tried")}
        for name, shape in shapes.items():
            value = found[name]
            if tuple(value.shape) != shape or value.dtype != KINDS.get(name, torch.float32):
                raise ValueError(f"{name} of the levels is of {value.dtype} and shape {list(value.shape)}")

    def check(self, classes: int) -> None:
        """Raises unless signatures are of so many classes, or of groups of them, and all numbers are finite."""
        kinds, groups = classes if self.classes else 1, self.groups
        is_right = len(groups) == kinds if kinds > MOST_CLASSES else not len(groups) and len(self.mix) == kinds
        if len(self.mix) and not is_right:
            raise ValueError(f"signatures of the levels are not of {classes} classes")
        for numbers in (self.labels, groups):
            if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(self.mix):
                raise ValueError("samples of the levels are of classes that it does not have")
        if not all(bool(torch.isfinite(getattr(self, name)).all()) for name in TENSORS):
            raise ValueError("the levels are not finite")

    def measure(self) -> dict[str, float]:
        return {"jumps": float(self.jumps), "away": float(self.away)} if self.sizes else {}

    def describe(self) -> list[str]:
        if not self.sizes:
            return []
        layers, jumps = tell_number(len(self.sizes), "BatchNorm layer"), tell_number(self.jumps, "jump")
        where = "of a found domain" if self.away else "of the source"
        told = f"levels of {layers}: {where}, {jumps}, {self.num_bytes:,} bytes"
        if classes := len(self.groups):
            known = self._by_weights is not None and len(self._by_weights) == classes
            by = "the classifier's weights" if known else "their numbers (no classifier of so many was found)"
            told += f", signatures of {len(self.mix)} groups of {classes:,} classes by {by}"
        return [told]

    @property
    def num_bytes(self) -> int:
        return sum(getattr(self, name).nbytes for name in TENSORS)

    def begin(self, num_classes: int) -> None:
        """Signatures of so many classes, or of groups of them, unless there are some already."""
        if len(self.mix):
            return
        number = num_classes if self.classes else 1
        if number > MOST_CLASSES:
            found = self._by_weights
            found = block_groups(number) if found is None or len(found) != number else found
            self.groups = found.to(self.mean.device)
            self.shares, number = shares_of(self.groups), int(self.groups.max()) + 1
        self.mix = self.mean.new_full((number,), 1 / number) if self.shares is None else self.shares
        if len(self.taught) != number:  # of a stream that shares signatures others may have begun them
            offset = self.mean.new_zeros(number, len(self.mean))
            self.signature, self.taught = torch.stack([offset, offset + 1]), self.mean.new_zeros(number)
        self.cut()

    def idle_in(self, sight: Sight) -> dict[int, Level]:
        """Layers that were not called."""
        return {at: self.held[at] for at in range(len(self.sizes)) if at not in sight.calls}

    def put_back(self, idle: Mapping[int, Level]) -> None:
        """Layers that were not called keep their levels."""
        self.mean, self.var, self.noise = self.mean.clone(), self.var.clone(), self.noise.clone()
        for at, level in idle.items():
            place = self.places[at]
            self.mean[place], self.var[place], self.noise[:, place] = level.mean, level.var, level.noise
        self.cut()

    def expect(self, mix: Tensor) -> Tensor:
        """Mean and mean square of a mix of classes, in units of the level: [2, P]."""
        if len(self.mix) > 1:
            return (self.signature * mix[:, None]).sum(1)
        return torch.stack([torch.zeros_like(self.mean), torch.ones_like(self.mean)])

    def average(self, of_group: Tensor) -> Tensor:
        """Over all classes, [K, P] to [P]."""
        return of_group.mean(0) if self.shares is None else self.shares @ of_group

    def cut(self) -> None:
        """The vectors layer by layer, as every forward needs them; the rest once it is asked for."""
        self._cut_with = self.signature
        self._lent = torch.split(self.mean, self.sizes), torch.split(self.var, self.sizes)
        for name in ("held", "yardstick", "expected", "least_var"):
            vars(self).pop(name, None)

    @computed_once
    def least_var(self) -> Tensor:
        return LEAST_VARIANCE * self.source_var

    @computed_once
    def expected(self) -> Tensor:
        """Of the mix of classes that is there now, [2, P]."""
        return self.expect(self.mix)

    @computed_once
    def yardstick(self) -> Yardstick:
        """The level of the shallow half of the layers."""
        level = Level(self.mean, self.var, self.noise, self.expected)
        return Yardstick.of(Level(*(part[..., self.shallow] for part in level)), self.sizes[: self.half])

    @computed_once
    def held(self) -> list[Level]:
        noise, expected = (torch.split(part, self.sizes, 1) for part in (self.noise, self.expected))
        return [Level(*parts) for parts in zip(*self._lent, noise, expected, strict=True)]


def skew_of(mix: Tensor, shares: Tensor | None = None) -> float:
    """0 for an even mix of classes, 1 for a single class. Groups of them may have unequal shares in an even mix."""
    classes = len(mix)
    if shares is not None:
        return min(1.0, float((mix.square() / shares).sum() - 1) / (classes - 1))
    return UNKNOWN_SKEW if classes == 1 else float(classes * mix.square().sum() - 1) / (classes - 1)


def counted(moments: Tensor, counts: Tensor | None) -> Tensor:
    """Those of the samples that count, where the rows are the samples: [2, n, c]."""
    return moments if counts is None or moments.shape[1] != len(counts) else moments[:, counts]


def _lend(buffers: dict[str, Tensor | None], mean: Tensor, var: Tensor) -> None:
    dtype = buffers["running_mean"].dtype  # type: ignore[union-attr]
    if dtype is not mean.dtype:
        mean, var = mean.to(dtype), var.to(dtype)
    buffers["running_mean"], buffers["running_var"] = mean, var
