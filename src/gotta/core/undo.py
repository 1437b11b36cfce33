"""Taking back a step: what everything was before it, and whether what is there after it may stay."""

from collections import defaultdict
from collections.abc import Iterable
from math import isfinite
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from gotta.core.copies import Copies
from gotta.core.inputs import MOST, Scale, largest_values
from gotta.memory.rewind import Rewind
from gotta.methods import Method

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted

LEVELS_EPS = torch.tensor(1e-5)
COUNTERS = ("offered", "adaptations", "scale", "sample")


class UndoneWarning(UserWarning):
    """A step was taken back, because it would have ruined the model."""


class Changeable:
    """What of a method's networks can change, found once: walking through the modules takes longer than copying."""

    def __init__(self, method: Method) -> None:
        nets = method.networks().values()
        modules = {id(module._buffers): module for net in nets for module in net.modules() if module._buffers}
        places = [(module._buffers, name) for module in modules.values() for name in module._buffers]
        self.places = [(held, name) for held, name in places if held[name] is not None]
        # A BatchNorm moves its buffers in training mode only, in which no method that leaves them alone puts it.
        own = [module._buffers for module in modules.values() if isinstance(module, _BatchNorm)]
        self.loose = [(held, name) for held, name in self.places if not any(held is one for one in own)]
        normed = [module for module in modules.values() if module._buffers.get("running_var") is not None]
        self.variances = [module._buffers for module in normed]
        sizes = [len(module._buffers["running_var"]) for module in normed]  # type: ignore[arg-type]
        self.eps = torch.tensor([float(getattr(m, "eps", 0.0)) for m in normed for _ in range(sizes.pop(0))])
        self.parameters = method.changing()
        self.copies: Copies | None = None  # of the last step

    def buffers(self, moving: bool = True) -> list[Tensor]:
        """All of them, or those that can move although the method leaves the statistics alone."""
        return [held[name] for held, name in (self.places if moving else self.loose)]  # type: ignore[misc]

    def running_variances(self) -> Tensor:
        """All of them in one row."""
        return torch.cat([held["running_var"] for held in self.variances])  # type: ignore[misc]


class Undo:
    """One step of an adapted model. Until it ends, `back` makes it as it was before, bit for bit.

    Buffers are copied when the step begins, because a prediction may move them; parameters and the optimizer only when
    it is about to adapt; of the memory the rows that change.
    """

    def __init__(self, adapted: "Adapted", changeable: Changeable) -> None:
        self._adapted, self._changeable, self._method = adapted, changeable, adapted.method
        self._rewind = Rewind(adapted.memory)
        self.adapting = False

    def __enter__(self) -> "Undo":
        method = self._method
        self._counters = {name: getattr(self._adapted, name) for name in COUNTERS}
        self._generators = {name: generator.get_state() for name, generator in method.generators.items()}
        self._remembered = {name: getattr(method, name) for name in method.remembers}
        self._stream = method.following.state_dict()
        moving = self._may_move()
        self._places = self._changeable.places if moving else self._changeable.loose
        held = [*self._changeable.buffers(moving), *self._remembered_tensors()]
        self._state = self._changeable.copies = Copies(held, self._changeable.copies)
        moving = moving and bool(self._changeable.variances)
        self._variances = self._changeable.running_variances() if moving else None
        method.undo_log = []
        self._rewind.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._method.undo_log = None
        self._rewind.__exit__(kind, error, at)

    def expect_adaptation(self) -> None:
        """Copy what an adaptation may change, once in a step and before the first."""
        if self.adapting:
            return
        self.adapting = True
        optimizer = self._method.optimizer
        self._held = [] if optimizer is None else [(p, dict(held)) for p, held in optimizer.state.items()]
        self._trained = Copies([*self._changeable.parameters, *tensors(held for _, held in self._held)])
        groups = [] if optimizer is None else optimizer.param_groups
        self._settings = [{name: value for name, value in group.items() if name != "params"} for group in groups]

    @torch.no_grad()
    def back(self) -> None:
        method, adapted = self._method, self._adapted
        for call in reversed(method.undo_log or []):
            call()
        self._state.back()
        for (held, name), value in zip(self._places, self._state.tensors, strict=False):
            held[name] = value
        for name, value in self._remembered.items():
            setattr(method, name, value)
        method.following.load_state_dict(self._stream, method.predictor)
        if self.adapting:
            self._trained.back()
            self._restore_optimizer(method.optimizer)
        for name, state in self._generators.items():
            method.generators[name].set_state(state)
        method.drop_graph()
        self._rewind.back()
        for name, count in self._counters.items():
            setattr(adapted, name, count)
        torch.clear_autocast_cache()

    def _restore_optimizer(self, optimizer: torch.optim.Optimizer | None) -> None:
        if optimizer is None:
            return
        optimizer.zero_grad()
        optimizer.state = defaultdict(dict, {parameter: dict(held) for parameter, held in self._held})
        for group, settings in zip(optimizer.param_groups, self._settings, strict=True):
            group.update(settings)

    @torch.no_grad()
    def harm(self) -> str:
        """What the step has ruined, in words; nothing if it may stay."""
        method, optimizer, levels = self._method, self._method.optimizer, self._method.following.levels
        if levels is not None and levels.var is self._stream["levels"]["var"]:
            levels = None  # which are exchanged as a whole when they move
        if not (self.adapting or method.follow or levels is not None):
            return ""  # nothing has moved
        numbers = [value for name in method.remembers if isinstance(value := getattr(method, name), float)]
        values = self._remembered_tensors()
        values += [] if levels is None else tensors([levels.state_dict()])
        if self._may_move():
            values += self._changeable.buffers()
        if self.adapting:
            values += self._changeable.parameters
            values += [] if optimizer is None else tensors(optimizer.state.values())
        if not all(map(isfinite, numbers)) or not Copies(values).finite():
            return "weights, statistics or the optimizer would no longer be finite"
        variances = [] if self._variances is None else [(self._variances, self._changeable.running_variances())]
        moved = any(moved_far(*pair, self._changeable.eps) for pair in variances)
        if moved or (levels is not None and moved_far(self._stream["levels"]["var"], levels.var, LEVELS_EPS)):
            return f"a running variance would move by more than a factor of {MOST:,.0f}"
        return ""

    def _may_move(self) -> bool:
        """Whether this step can move the buffers of networks, as far as gotta moves them."""
        method = self._method
        return method.adapts or method.follow > 0 or method.moves_statistics

    def _remembered_tensors(self) -> list[Tensor]:
        method = self._method
        remembered = (getattr(method, name) for name in method.remembers if name not in method.large)
        return [value for value in remembered if isinstance(value, Tensor)]


def moved_far(before: Tensor, now: Tensor, eps: Tensor) -> bool:
    """Whether a variance has grown or shrunk by more than that factor, in the sum with `eps` that is divided by."""
    eps = eps.to(now)
    least, most = torch.aminmax((now + eps) / (before.to(now) + eps))
    return not bool((most <= MOST) & (least >= 1 / MOST))


def tensors(held: Iterable[dict[str, Any]]) -> list[Tensor]:
    return [value for values in held for value in values.values() if isinstance(value, Tensor)]


def drop_broken_rows(adapted: "Adapted") -> None:
    """Samples that were stored before there was anything to compare them with would spoil every adaptation."""
    if adapted.memory.lasts and len(adapted.memory):
        largest = largest_values(adapted.memory.peek().x).double().cpu()
        broken = largest > MOST * largest.median()
        if broken.any():
            adapted.memory.drop(broken.numpy())
            adapted.scale = Scale(float(largest[~broken].max()))
