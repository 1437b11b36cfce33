"""A module that threads can share, and whose calls come whole or not at all."""

import os
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from multiprocessing.context import get_spawning_popen
from threading import RLock
from time import monotonic
from typing import Any, ClassVar, Self, TypeVar
from weakref import WeakSet

from torch import Tensor, nn

from gotta.core.guard import GuardWarning
from gotta.core.undo import Changeable, Undo
from gotta.errors import GottaError

T = TypeVar("T")
PICKLED = "pickled"
ALIVE: "WeakSet[Shared]" = WeakSet()


class Shared(nn.Module):
    """Whoever holds `lock` is alone with the module. Copies, pickles and `state_dict` are made between two calls."""

    OWN: ClassVar[tuple[str, ...]] = (
        "lock",
        "_changeable",
        "_undo",
        "on_step",
    )  # what belongs to this object alone and is no state

    def renew(self) -> None:
        """Make anew, in a copy, what was not copied."""
        self.lock = RLock()
        ALIVE.add(self)
        self._changeable = Changeable(self)  # type: ignore[arg-type]
        self._undo: Undo | None = None  # of the call that goes on, or was cut off

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        """Nothing else happens inside. What an interrupt has left of an earlier call is taken back first."""
        with self.lock:
            undo = self._undo
            if undo is not None and undo.goes_on:
                raise GottaError(
                    f"{what} was asked for inside a step of the same model, by a hook or a callback: there it is "
                    "neither as before nor as after. Ask for it between two steps, or of a copy made before."
                )
            if undo is not None:
                undo.back(entirely=True)
                self._undo = None
                undo.stop()
            yield

    def whole(self, what: str, work: Callable[[Undo], T], everything: bool = False) -> T:
        """Do something that happens whole or not at all, whatever is raised and wherever."""
        with self.alone(what):
            undo = Undo(self, self._changeable, everything)  # type: ignore[arg-type]
            self._undo = undo
            try:
                done = work(undo)
            except GuardWarning:  # comes last in a step, as an error only if the caller wants it so
                self._undo = None
                undo.stop()
                raise
            except BaseException:
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
        state = pickle.loads(state[PICKLED]) if PICKLED in state else state
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
HELD: list[Any] = []


def _hold_locks() -> None:
    """Before a fork: no thread is inside a step, where torch holds locks that nobody would give back in the child.

    A step that takes longer, or one that waits for whoever forks, is not waited for: its lock is renewed in the child,
    and what it left is taken back there by the next call.
    """
    deadline = monotonic() + WAIT
    for model in sorted(ALIVE, key=id):
        if model.lock.acquire(timeout=max(0.0, deadline - monotonic())):
            HELD.append(model.lock)


def _give_back() -> None:
    while HELD:
        HELD.pop().release()


def _renew_locks() -> None:
    HELD.clear()
    for model in list(ALIVE):
        model.lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold_locks, after_in_parent=_give_back, after_in_child=_renew_locks)
