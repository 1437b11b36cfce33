"""Taking back what a call did to a model: what everything was before, and whether what is there after it may stay."""

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from operator import is_
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.core.inputs import MOST, Scale, largest_values
from gotta.core.streams import Held, put
from gotta.state import Back, set_values, values_of

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted

Place = tuple[dict[str, Tensor | None], str]  # the buffers of a module, and the name of one
LEVELS_EPS = torch.tensor(1e-5)


def is_on_stack(frame: FrameType | None) -> bool:
    """Whether a call goes on, and somebody inside it asks; unlike a flag, an interrupt cannot leave it set."""
    found: FrameType | None = sys._getframe(1)
    while found is not None and found is not frame:
        found = found.f_back
    return found is not None


class UndoneWarning(UserWarning):
    """A step was taken back, because it would have ruined the model."""


class Changeable:
    """What of a model's networks can change, found once: walking through the modules takes longer than copying."""

    def __init__(self, adapted: "Adapted") -> None:
        method, guard = adapted.method, adapted.guard
        nets = list(method.networks().values())
        modules = {id(module._buffers): module for net in nets for module in net.modules() if module._buffers}
        places = [(module._buffers, name) for module in modules.values() for name in module._buffers]
        self.places = [(held, name) for held, name in places if held[name] is not None]
        # A BatchNorm moves its buffers in training mode only, in which no method that leaves them alone puts it.
        own = [module._buffers for module in modules.values() if isinstance(module, _BatchNorm)]
        self.loose = [(held, name) for held, name in self.places if not any(held is one for one in own)]
        normed = [module for module in modules.values() if module._buffers.get("running_var") is not None]
        self.variances = [module._buffers for module in normed]
        self.eps = torch.cat([_eps_of(module) for module in normed]) if normed else torch.zeros(0)
        self.parameters = method.changing()
        self.modules = [m for net in [*nets, *([] if guard is None else [guard.source.model])] for m in net.modules()]
        self.copies: Copies | None = None  # of the last step
        moving = method.adapts or method.statistics.follow > 0 or method.moves_statistics
        self.moving = self.places if moving else []  # as far as gotta moves them

    def buffers(self, moving: bool = True) -> list[Tensor]:
        """All of them, or those that can move although the method leaves the statistics alone."""
        return [held[name] for held, name in (self.places if moving else self.loose)]  # type: ignore[misc]

    def running_variances(self) -> Tensor:
        """All of them in one row."""
        return torch.cat([held["running_var"] for held in self.variances])  # type: ignore[misc]


class Undo:
    """A model as it is now. `back` makes it so again, bit for bit and as often as it is called, until `stop`.

    Everything but weights and optimizer is taken at once, before anything changes; these only when the call is about to
    adapt. Of the memory it is the rows that change.
    """

    def __init__(
        self, adapted: "Adapted", changeable: Changeable, everything: bool = False, held: Held | None = None
    ) -> None:
        self._adapted, self._changeable, self._method = adapted, changeable, adapted.method
        self._everything = everything  # whether the call can change more than a step can
        self.frame: FrameType | None = sys._getframe(1)  # of the call, which is on the stack as long as it goes on
        self.adapting = False
        self.held = held  # the stream that is in the model, where calls exchange it
        self._exchanged = {name: getattr(adapted, name) for name in adapted.exchanged}
        self._inner: list[Undo] = []
        # Whether this call can move the buffers of networks, as far as gotta moves them.
        moving = self._moving = everything or bool(changeable.moving)
        self._places = changeable.places if moving else changeable.loose
        kept = [*changeable.buffers(moving), *self._remembered_tensors()]
        self._state = changeable.copies = Copies(kept, changeable.copies)
        self._variances = changeable.running_variances() if moving and changeable.variances else None
        self._levels = self._method.statistics.variances
        self._lent = [_record_lent(module) for module in changeable.modules] if held is None else []
        others = [owner.record() for owner in (adapted.guard, adapted.shadow) if owner is not None]
        self._counters, self._parts = values_of(adapted), self._method.record()
        self._watched = [self._method.cost.record(), *others]
        # Where nobody looks at samples again, the memory changes only when it is told how many classes there are.
        untouched = not everything and adapted.memory.knows_classes and not adapted.observes
        self._rewind = None if untouched else adapted.memory.record()
        if everything:
            self.expect_adaptation()

    def begin_part(self, held: Held) -> "Undo":
        """For the part of a call that belongs to a stream, which is in the model now."""
        self._inner.append(Undo(self._adapted, self._changeable, held=held))
        return self._inner[-1]

    @property
    def goes_on(self) -> bool:
        """Whether the call has neither ended nor been cut off: somebody inside it asks."""
        return is_on_stack(self.frame)

    def stop(self) -> None:
        """Keep everything as it is now."""
        for inner in self._inner:
            inner.stop()
        self._method.undo_log = None
        if self._rewind is not None:
            self._rewind.stop()
        self.frame = None  # which would keep all that the call held

    def expect_adaptation(self) -> None:
        """Copy what an adaptation may change, once and before the first."""
        if self.adapting:
            return
        optimizer = self._method.optimizer
        self._moments = [] if optimizer is None else [(p, dict(held)) for p, held in optimizer.state.items()]
        parameters = self._changeable.parameters
        if self._everything:
            parameters = [parameter for net in self._method.networks().values() for parameter in net.parameters()]
        self._trained = Copies([*parameters, *tensors(held for _, held in self._moments)])
        groups = [] if optimizer is None else optimizer.param_groups
        self._settings = [{name: value for name, value in group.items() if name != "params"} for group in groups]
        self.adapting = True

    @torch.no_grad()
    def back(self, entirely: bool = False) -> None:
        """What was spent, and what the guard knows, only `entirely`: a batch that is left out has been predicted."""
        for inner in reversed(self._inner):
            inner.back(entirely)
        if self.held is not None:
            put(self._adapted, self.held)
        set_values(self._adapted, self._exchanged)
        for call in self._lent:
            call()
        self._parts()
        self._state.back()
        for (held, name), value in zip(self._places, self._state.tensors, strict=False):
            held[name] = value
        if self.adapting:
            self._trained.back()
            if self._method.optimizer is not None:
                self._restore_optimizer(self._method.optimizer)
        if self._rewind is not None:
            self._rewind.back()
        set_values(self._adapted, self._counters)
        for call in self._watched if entirely else ():
            call()
        torch.clear_autocast_cache()

    def _restore_optimizer(self, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        optimizer.state = defaultdict(dict, {parameter: dict(held) for parameter, held in self._moments})
        for group, settings in zip(optimizer.param_groups, self._settings, strict=True):
            group.update(settings)

    @torch.no_grad()
    def harm(self) -> str:
        """What the call has ruined, in words; nothing if it may stay."""
        method, optimizer, levels = self._method, self._method.optimizer, self._method.statistics.variances
        moved = levels is not self._levels  # which are exchanged as a whole when they move
        if not (self.adapting or method.statistics.follow or moved):
            return ""
        numbers = [value for name in method.remembers if isinstance(value := getattr(method, name), float)]
        values = self._remembered_tensors()
        values += tensors([method.statistics.state_dict()]) if moved else []
        if self._moving:
            values += self._changeable.buffers()
        if self.adapting:
            values += self._changeable.parameters
            values += [] if optimizer is None else tensors(optimizer.state.values())
        if not all(map(isfinite, numbers)) or not Copies(values).finite():
            return "weights, statistics or the optimizer would no longer be finite"
        before, eps = self._variances, self._changeable.eps
        far = before is not None and moved_far(before, self._changeable.running_variances(), eps)
        if far or (
            moved and self._levels is not None and levels is not None and moved_far(self._levels, levels, LEVELS_EPS)
        ):
            return f"a running variance would move by more than a factor of {MOST:,.0f}"
        return ""

    def _remembered_tensors(self) -> list[Tensor]:
        method = self._method
        remembered = (getattr(method, name) for name in method.remembers if name not in method.large)
        return [value for value in remembered if isinstance(value, Tensor)]


def _record_lent(module: nn.Module) -> Back:
    """For what a module is lent while it predicts or is trained: its mode, hooks that look on, statistics."""
    hooks, normed = dict(module._forward_pre_hooks), isinstance(module, _BatchNorm)
    values, buffers = (dict(vars(module)), dict(module._buffers)) if normed else ({}, {})

    def back() -> None:
        if hooks or module._forward_pre_hooks:
            _refill(module._forward_pre_hooks, hooks)
        if normed:
            _refill(vars(module), values)
            module._buffers.update(buffers)

    return back


def _refill(held: dict[Any, Any], values: Mapping[Any, Any]) -> None:
    for name in [name for name in held if name not in values]:
        del held[name]
    held.update(values)


def _eps_of(module: nn.Module) -> Tensor:
    """For each channel what is added to its variance."""
    return torch.full((len(module._buffers["running_var"]),), float(getattr(module, "eps", 0.0)))  # type: ignore[arg-type]


def moved_far(before: Tensor, now: Tensor, eps: Tensor) -> bool:
    """Whether a variance has grown or shrunk by more than that factor, in the sum with `eps` that is divided by."""
    eps = eps.to(now)
    least, most = torch.aminmax((now + eps) / (before.to(now) + eps))
    return not bool((most <= MOST) & (least >= 1 / MOST))


def tensors(held: Iterable[Mapping[str, Any]]) -> list[Tensor]:
    return [value for values in held for value in values.values() if isinstance(value, Tensor)]


def drop_broken_rows(adapted: "Adapted") -> None:
    """Samples that were stored before there was anything to compare them with would spoil every adaptation."""
    if adapted.memory.lasts and len(adapted.memory) and not adapted.method.statistics.keeps_moments:
        largest = largest_values(adapted.memory.peek().x).double().cpu()
        broken = largest > MOST * largest.median()
        if broken.any():
            adapted.memory.drop(broken.numpy())
            adapted.scale = Scale(float(largest[~broken].max()))


class Copies:
    """The content of some tensors. Those of one type and device are copied in one row, which is much quicker."""

    @torch.no_grad()
    def __init__(self, tensors: Sequence[Tensor], earlier: "Copies | None" = None) -> None:
        """`earlier` copies of the very same tensors tell which of them are alike, which takes as long as to copy."""
        self.tensors = tensors
        same = earlier is not None and len(tensors) == len(earlier.tensors) and all(map(is_, tensors, earlier.tensors))
        self._alike: list[list[Tensor]] = earlier._alike if earlier is not None and same else sort_alike(tensors)
        self._rows = [(group, in_one_row(group)) for group in self._alike]

    @torch.no_grad()
    def back(self) -> None:
        """Write the content back into the tensors."""
        for group, row in self._rows:
            parts = torch.split(row, [value.numel() for value in group])
            for value, part in zip(group, parts, strict=True):
                value.copy_(part.view(value.shape))

    def finite(self) -> bool:
        """Whether all numbers are, with one answer from each device."""
        rows = [row for _, row in self._rows if row.is_floating_point() or row.is_complex()]
        return all(bool(torch.isfinite(row).all()) for row in rows)


def sort_alike(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    alike: dict[tuple[torch.dtype, torch.device, int], list[Tensor]] = {}
    for tensor in tensors:
        alike.setdefault((tensor.dtype, tensor.device, tensor.ndim), []).append(tensor)
    return list(alike.values())


def in_one_row(alike: list[Tensor]) -> Tensor:
    """The numbers of tensors that have one number of dimensions."""
    if alike[0].ndim == 0:
        return torch.stack(alike)
    return torch.cat(alike if alike[0].ndim == 1 else [value.reshape(-1) for value in alike])
