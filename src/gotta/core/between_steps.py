"""What may be asked of an adapted model between two steps: freezing, resetting, saving, moving, printing."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from gotta.core import resume
from gotta.core.guard import Guard
from gotta.core.inputs import Scale, shape
from gotta.core.shadow import Shadow
from gotta.core.shared import Shared
from gotta.core.streams import Held, Key, Limits
from gotta.core.summary import describe
from gotta.core.undo import Place, Undo
from gotta.memory import Memory
from gotta.methods import Method
from gotta.state import Reader, count, flag, optional, set_values


class BetweenSteps(Shared):
    """A method, a memory and a guard, and what is counted of them. Each call comes whole or not at all."""

    model: nn.Module
    method: Method
    memory: Memory
    guard: Guard | None
    shadow: Shadow | None
    recipe: dict[str, Any] | None
    source_hash: str | None
    offered: int
    turns: int
    adaptations: int
    scale: Scale
    state: ClassVar[Mapping[str, Reader]] = {
        "offered": count,
        "turns": count,
        "adaptations": count,
        "scale": Scale.read,
        "sample": optional(shape),
        "frozen": flag,
    }

    exchanged: ClassVar[tuple[str, ...]] = ("held_streams",)  # beside what `state` names

    def __init__(self) -> None:
        super().__init__()
        self.frozen = False
        self.limits = Limits()
        self.one_forward = True  # for the samples of several streams, unless the network proves unfit for it
        self.held_streams: dict[Key, Held] = {}  # by their last use; exchanged as a whole
        self.snapshots: dict[int, Mapping[str, Any]] = {}  # by number; exchanged as a whole
        self.sample: tuple[int, ...] | None = None  # the shape of one
        set_values(self, self.counters_at_start())

    def counters_at_start(self) -> dict[str, Any]:
        """Samples; how often it was time to adapt, for whoever looks at samples again; how often it did; their size."""
        return {"offered": 0, "turns": 0, "adaptations": 0, "scale": Scale()}

    @property
    def streams(self) -> list[Key]:
        """The streams that are held, the one that was used last at the end."""
        with self.lock:
            return list(self.held_streams)

    def forget(self, stream: Key) -> bool:
        """Drop all that is known of a stream; its next sample begins anew. Whether there was anything."""
        with self.alone("forget()"):
            left = {key: held for key, held in self.held_streams.items() if key != stream}
            known, self.held_streams = len(left) < len(self.held_streams), left
            return known

    @property
    def shares_weights(self) -> bool:
        """Whether something is trained, which all streams then share."""
        return bool(self._changeable.parameters)

    @property
    def moving_buffers(self) -> list[Place]:
        """Where the buffers of the networks are, if they move."""
        return self._changeable.moving

    def freeze(self) -> None:
        """From now on only predict, with the state as it is: nothing is observed, nothing adapts."""
        with self.alone("freeze()"):
            self.frozen = True

    def unfreeze(self) -> None:
        """Adapt again."""
        with self.alone("unfreeze()"):
            self.frozen = False

    def boundary(self) -> None:
        """Say that the next sample has nothing to do with the last one: a new clip, another camera."""
        with self.alone("boundary()"):
            self.method.prior.boundary()

    @torch.inference_mode(False)
    def reset(self) -> None:
        """Back to the source model and an empty memory."""
        self.whole("reset()", self._reset, everything=True)

    def _reset(self, undo: Undo) -> None:
        self.method.reset()
        self.memory.reset()
        if self.guard is not None:
            self.guard.reset()
        self.held_streams = {}
        set_values(self, self.counters_at_start())
        if self.shadow is not None:
            self.shadow.reset()

    def save(self, path: str | Path, beside: Mapping[str, Any] | None = None) -> None:
        """Write everything needed to go on bit for bit into a folder, whole or not at all.

        `beside` is kept with it and given back by `load`: where the stream was, for one. Arrays and what JSON can say.
        """
        with self.alone("save()"):
            resume.save(self, Path(path), beside)

    @torch.inference_mode(False)
    def load(self, path: str | Path) -> dict[str, Any]:
        """Go on from a saved state of a model built alike; what was saved beside it.

        A state that does not fit changes nothing.
        """
        with self.alone("load()"):
            state = resume.read_fitting(self, Path(path))
            self.whole("load()", lambda undo: resume.put_back(self, Path(path), state), everything=True)
            return dict(state["beside"])

    def get_extra_state(self) -> Tensor:
        """What `state_dict` has of this model beside the weights of its network: everything that `save` keeps."""
        with self.alone("state_dict()"):
            return resume.pack(self)

    @torch.inference_mode(False)
    def set_extra_state(self, packed: Tensor) -> None:
        """Put back what `get_extra_state` gave, of a model built alike. What does not fit changes nothing."""
        with self.lock:
            state = resume.unpack(self, packed)
            if self._undo is not None and self._undo.goes_on:  # that of `load_state_dict`
                resume.put_back(self, resume.PACKED, state)
            else:  # part of a larger module
                self.whole("loading", lambda undo: resume.put_back(self, resume.PACKED, state), everything=True)

    @torch.inference_mode(False)
    def fold(self) -> nn.Module:
        """The network as it predicts now, as a plain module of its own class that adapts no more.

        Levels and running statistics are in its BatchNorm layers; the prior is not, see `gotta.Filter`. For
        `torch.export`, ONNX and `save_pretrained`: `model.model` has the weights without the levels.
        """
        from gotta.core.fold import fold

        with self.alone("fold()"):
            return fold(self)

    def train(self, mode: bool = True) -> Self:
        """The method alone decides which layers are in which mode, so train() and eval() do not reach the model."""
        self.training = mode
        return self

    @property
    def observes(self) -> bool:
        """Whether anybody looks at the samples again: a method, a memory that lasts, or the reader of a journal."""
        memory = self.memory
        return self.method.adapts or memory.lasts or memory.journal is not None

    @property
    def classes(self) -> int | None:
        """How many there are, once that is known."""
        return self.memory.num_classes if self.memory.knows_classes else None

    @property
    def notes(self) -> list[str]:
        """What a reader of its results should know about its memory and its method."""
        return [*self.memory.notes, *self.method.notes]

    def __repr__(self) -> str:
        with self.lock:
            return describe(self)

    def __getattr__(self, name: str) -> Any:
        """Other attributes are those of its network: `config`, `device`. Not its methods."""
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name.startswith("_") or "model" not in vars(self).get("_modules", {}):
                raise
        found = getattr(self.model, name)
        if callable(found):
            raise AttributeError(
                f"an adapted model has no {name!r}, which its network has. model.fold().{name} is that of the network "
                f"as it predicts now, model.model.{name} that without its levels."
            )
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moving the model moves what belongs to it: teachers, optimizer, stored samples, the guard's source."""
        with self.alone("moving it"):
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
            resume.move(self, fn)
            return self
