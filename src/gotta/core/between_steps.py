"""An adapted model but for its step: calls that threads may share and that come whole or not at all, and what may be
asked of it between two steps: freezing, resetting, saving, moving, printing; what it would be worth, and who answers.
"""

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from multiprocessing.context import get_spawning_popen
from pathlib import Path
from threading import RLock, get_ident
from time import monotonic
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakSet

import torch
from torch import Tensor, nn

from gotta.core import resume
from gotta.core.guard import Guard, GuardWarning
from gotta.core.inputs import Scale, check_batch, shape
from gotta.core.shadow import Noting, Shadow, ShadowReport
from gotta.core.streams import Held, Key, Limits, begin, drop_aside, is_aside, place
from gotta.core.summary import describe
from gotta.core.undo import Changeable, Undo
from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.methods import Method
from gotta.state import Reader, count, flag, optional, set_values
from gotta.types import Outcome, Prediction

LOG = logging.getLogger(__name__)
T = TypeVar("T")
PICKLED = "pickled"
MOST_SNAPSHOTS = 5
ALIVE: "WeakSet[Shared]" = WeakSet()


class Shared(nn.Module):
    """Whoever holds `lock` is alone with the module. Copies, pickles and `state_dict` are made between two calls."""

    # Not part of the state: a copy makes its own.
    OWN: ClassVar[tuple[str, ...]] = ("lock", "changeable", "_undo", "on_step")

    def renew(self) -> None:
        """Make anew, in a copy, what was not copied."""
        self.lock = RLock()
        ALIVE.add(self)
        self.changeable = Changeable(self)  # type: ignore[arg-type]
        self._undo: Undo | None = None  # of the call that goes on, or was cut off

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Nothing else happens inside. What an interrupt has left of an earlier call is taken back first."""
        with self.lock:
            undo = self._undo
            if undo is not None and undo.goes_on:
                raise GottaError(f"{what} was asked for inside a step of the same model. Ask for it between two steps.")
            if undo is not None:
                undo.back(entirely=True)
                self._undo = None
                undo.stop()
            yield

    def whole(self, what: str, work: Callable[[Undo], T], everything: bool = False) -> T:
        """Do something that happens whole or not at all, whatever is raised and wherever."""
        with self.alone(what):
            undo = Undo(self, self.changeable, everything)  # type: ignore[arg-type]
            self._undo = undo
            try:
                done = work(undo)
            except BaseException as error:
                if not isinstance(error, GuardWarning):  # comes last in a step, as an error only if the caller wants it
                    undo.back(entirely=True)
                self._undo = None
                undo.stop()
                raise
            self._undo = None  # from here on it has happened
            undo.stop()
            return done

    def state_dict(self, *arguments: Any, **named: Any) -> Any:
        """The whole state, as it is between two steps: copies of the weights, unless `keep_vars`."""
        with self.alone("state_dict()"):
            found = super().state_dict(*arguments, **named)
            if not named.get("keep_vars"):
                mine = {name: value for name, value in found.items() if name.startswith(named.get("prefix", ""))}
                found.update({name: value.clone() for name, value in mine.items() if isinstance(value, Tensor)})
            return found

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        """Go on from a state dict of a model built alike. One that does not fit changes nothing."""
        load = super().load_state_dict
        return self.whole("load_state_dict()", lambda undo: load(*arguments, **named), everything=True)

    def __getstate__(self) -> dict[str, Any]:
        """For a pickle, which is written after the lock is given back."""
        with self.alone("a pickle"):
            # A process that is being started would be given the files behind tensors of a copy that is gone by then.
            starting = get_spawning_popen() is not None
            return {PICKLED: pickle.dumps(self._copied())} if starting else deepcopy(self._copied())

    def __setstate__(self, state: dict[str, Any]) -> None:
        if PICKLED in state:  # bytes that __getstate__ made, inside the pickle that is being read already
            state = pickle.loads(state[PICKLED])
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.renew()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self.alone("a copy"):
            memo[id(self)] = copied = type(self).__new__(type(self))
            copied.__setstate__(deepcopy(self._copied(), memo))
            return copied

    def _copied(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.OWN}


WAIT = 5.0  # seconds that a fork waits for the steps of other threads to end
HELD: dict[int, list[Any]] = {}  # by thread, since several may fork at once


def _hold_locks() -> None:
    """Before a fork: no thread is inside a step, where torch holds locks that nobody would give back in the child.

    A step that takes longer, or one that waits for whoever forks, is not waited for: its lock is renewed in the child,
    and what it left is taken back there by the next call.
    """
    deadline, held = monotonic() + WAIT, HELD.setdefault(get_ident(), [])
    for model in sorted(ALIVE, key=id):
        if model.lock.acquire(timeout=max(0.0, deadline - monotonic())):
            held.append(model.lock)


def _give_back() -> None:
    for lock in HELD.pop(get_ident(), ()):
        lock.release()


def _renew_locks() -> None:
    HELD.clear()
    for model in list(ALIVE):
        model.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_locks, after_in_parent=_give_back, after_in_child=_renew_locks)


class BetweenSteps(Shared):
    """A method, a memory and a guard, and what is counted of them. Each call comes whole or not at all."""

    offered: int
    turns: int
    adaptations: int
    scale: Scale
    on_step: Callable[[Outcome], object] | None  # called after each step, with what it gave; not part of copies
    state: ClassVar[Mapping[str, Reader]] = {
        "offered": count,
        "turns": count,
        "adaptations": count,
        "scale": Scale.read,
        "sample": optional(shape),
        "frozen": flag,
    }

    lone: ClassVar[str] = ""  # the argument of `adapt` that leaves it one stream, if any
    exchanged: ClassVar[tuple[str, ...]] = ("held_streams", "stale_aside", "snapshots")  # beside what `state` names

    def __init__(
        self,
        method: Method,
        memory: Memory,
        adapt_every: int | None = None,
        score: str = "before",
        guard: Guard | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        super().__init__()
        self.model = method.model
        self.method, self.memory, self.guard, self.shadow = method, memory, guard, shadow
        self.adapt_every, self.score = adapt_every, score
        self.recipe: dict[str, Any] | None = None  # the arguments of `adapt`, to build this model again
        self.source_hash: str | None = None
        self.frozen = self.warned = False
        self.limits = Limits()
        self.one_forward = True  # for the samples of several streams, unless the network proves unfit for it
        self.held_streams: dict[Key, Held] = {}  # by their last use; exchanged as a whole
        self.stale_aside = False  # whether streams that were put aside are of before a reset
        self.snapshots: dict[int, Mapping[str, Any]] = {}  # by number; exchanged as a whole
        self.sample: tuple[int, ...] | None = None  # the shape of one
        set_values(self, self.counters_at_start())
        self.renew()

    def counters_at_start(self) -> dict[str, Any]:
        """Samples; how often it was time to adapt, for whoever looks at samples again; how often it did; their size."""
        return {"offered": 0, "turns": 0, "adaptations": 0, "scale": Scale()}

    def answer(self, prediction: Prediction, by: Method | None = None) -> Any:
        """What the network would give, with these logits."""
        if by is None:
            by = self.guard.source if self.guard is not None and self.guard.sheltering else self.method
        logits = prediction.logits if by.output_type is None else prediction.logits.to(by.output_type)
        return self.method.calls.answer(logits, (prediction.before_prior or prediction).logits)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy has no folder for streams: it would write over those of this model."""
        super().__setstate__(state)
        self.limits = replace(self.limits, aside=None)

    @property
    def streams(self) -> list[Key]:
        """The streams that are held, the one that was used last at the end."""
        with self.lock:
            return list(self.held_streams)

    def forget(self, stream: Key) -> bool:
        """Drop all that is known of a stream; its next sample begins anew. Whether there was anything."""
        with self.alone("forget()"):
            dropped = drop_aside(self, stream)  # first: an interrupt then leaves the stream as it is held
            left = {key: held for key, held in self.held_streams.items() if key != stream}
            known, self.held_streams = len(left) < len(self.held_streams), left
            return dropped or known

    def let_go(self, going: Mapping[Key, Held]) -> None:
        """Streams that make room for others are written into the folder for them, if there is one."""
        for key, held in going.items() if self.limits.aside else ():
            resume.save_stream(self, key, held, place(self, key), {"stream": key})

    def begin_stream(self, key: Key) -> Held:
        """A stream that is not held: as it was put aside, or a new one."""
        return resume.load_stream(self, place(self, key))[0] if is_aside(self, key) else begin(self)

    @property
    def shares_weights(self) -> bool:
        """Whether something is trained, which all streams then share."""
        return bool(self.changeable.parameters)

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
        drop_aside(self)

    def _reset(self, undo: Undo) -> None:
        self.method.reset()
        self.memory.reset()
        if self.guard is not None:
            self.guard.reset()
        self.held_streams, self.stale_aside = {}, self.limits.aside is not None
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
    def load(self, path: str | Path, found: resume.Found | None = None) -> dict[str, Any]:
        """Go on from a saved state of a model built alike; what was saved beside it.

        A state that does not fit changes nothing. `found`: what was read there already.
        """
        with self.alone("load()"):
            state = resume.read_fitting(self, Path(path), found)
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

    def report(self) -> ShadowReport:
        """Agreement with the source, signs without labels, and where there are labels the gain with its interval."""
        with self.alone("report()"):
            return self._shadow("report()").report()

    def feedback(self, ids: Any, labels: Any) -> None:
        """Say what samples truly were: `ids` as in `outcome.ids`, or those given to `step`. All count, or none."""
        with self.alone("feedback()"):
            self._shadow("feedback()").feed_back(ids, labels)

    def promote(self) -> None:
        """From now on the adapted model answers; the source goes on beside it."""
        with self.alone("promote()"):
            self._shadow("promote()").live = True

    def demote(self) -> None:
        """From now on the source answers; the adapted model goes on beside it."""
        with self.alone("demote()"):
            self._shadow("demote()").live = False

    def snapshot(self) -> int:
        """Keep the state as it is now, and give its number. The last five are kept, and saved with the model."""
        with self.alone("snapshot()"):
            state = {name: part for name, part in resume.state_of(self).items() if name != "shadow"}
            number = max(self.snapshots, default=0) + 1
            kept = {old: held for old, held in self.snapshots.items() if old > number - MOST_SNAPSHOTS}
            self.snapshots = {**kept, number: state}
            return number

    @torch.inference_mode(False)
    def rollback(self, number: int) -> None:
        """Go back to a snapshot. Who answers, and what the shadow has counted, stays."""
        with self.alone("rollback()"):
            if number not in self.snapshots:
                known = ", ".join(map(str, self.snapshots)) or "none"
                raise GottaError(f"there is no snapshot {number!r}. Kept: {known}. snapshot() makes one.")
            self.whole("rollback()", lambda undo: resume.put_state(self, self.snapshots[number]), everything=True)

    def wait(self) -> None:
        """Return when every batch that was given is learned from. Without `background`, that is at once."""

    def _shadow(self, what: str) -> Shadow:
        if self.shadow is None:
            raise GottaError(f"{what} needs a model with a shadow. Build it with gotta.adapt(net, shadow=True).")
        return self.shadow

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
                f"an adapted model has no {name!r}, but its network has: model.fold().{name} as it predicts now, "
                f"model.model.{name} without its levels."
            )
        return found

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moving the model moves what belongs to it: teachers, optimizer, stored samples, the guard's source."""
        with self.alone("moving it"):
            super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
            resume.move(self, fn)
            return self

    def _beside(self, x: Tensor, ids: Any, attempt: Callable[[Noting], Outcome]) -> Outcome:
        """A step beside the source."""
        with self.alone("a step"):  # refused here, because below the source would answer where that is refused
            check_batch(x, self.sample, False)
            return self._shadow("ids=").step(x, ids, attempt, self.answer)

    def tell(self, outcome: Outcome) -> Outcome:
        """Let whoever listens hear of a step. Its errors are logged: the step has happened."""
        if self.on_step is not None:
            try:
                self.on_step(outcome)
            except Exception:
                LOG.exception("on_step failed; the step itself is done")
        return outcome
