"""Off the request path: predictions come at once from the last finished state, and one thread adapts behind them."""

import logging
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from types import FrameType
from typing import Any
from weakref import ref

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

from gotta.core.adapted import Adapted
from gotta.core.inputs import not_stored
from gotta.core.undo import Undo, is_on_stack
from gotta.freed_memory import keep_freed_memory
from gotta.methods.parts.calls import map_tensors
from gotta.methods.support import Reader
from gotta.priors.prior import Starts
from gotta.state import set_values
from gotta.types import Outcome, Prediction

LOG = logging.getLogger(__name__)
Batch = tuple[tuple[Any, ...], dict[str, Any]]  # the arguments of a step
QUEUE = 64  # batches that wait, unless another number is asked for
KEEPING = ("a step", "a copy", "a pickle", "save()", "snapshot()", "state_dict()")  # calls that change no prediction
PATIENCE = 0.1  # seconds that an operation behind waits for predictions, so that it comes to an end under full load
TICK = 0.5  # seconds after which a thread looks whether its model is still there


class Front(Adapted):
    """Predicts. Prior and levels follow each sample; memory and gradients are left to the model behind it."""

    lone = "background"

    def renew(self) -> None:
        super().renew()
        if not self.method.statistics.follow:
            self.changeable.moving = []  # predictions leave the networks as they are, so a step copies less

    def _predict(self, x: Tensor) -> Prediction:
        return self.method.watch(x, self.method.predict)

    def _learn(self, x: Tensor, prediction: Prediction, undo: Undo) -> tuple[Tensor, dict[str, float]]:
        self.offered += len(x)
        return not_stored(len(x)), {}

    @torch.no_grad()
    def take_over(self, finished: Adapted, recalled: tuple[Tensor, Tensor] | None) -> None:
        """What can change of the networks behind, and what the method remembers. Prior and levels are further on here.

        A prediction that comes meanwhile waits, so this is one operation for all tensors. `recalled` is what the
        network says of the memory's rows, so that no prediction has to ask it again.
        """
        method = finished.method
        remembered = deepcopy({name: getattr(method, name) for name in method.remembers if name not in method.large})
        with self.alone("an update"):
            mine, theirs = ([*one.parameters, *one.buffers()] for one in (self.changeable, finished.changeable))
            if mine:
                torch._foreach_copy_(mine, theirs)
            set_values(self.method, remembered)
            if isinstance(self.method, Reader):
                self.method.recalled = recalled or self.method.recalled
            elif self.method.reads_memory and finished.memory.knows_classes:
                self.memory.expect(finished.memory.num_classes)
                self.memory.load_state_dict(finished.memory.state_dict())


class Yielding(TorchFunctionMode):
    """Before each operation inside, predictions that go on are waited for.

    Two threads that compute hinder one another at each operation, for which Python lets only one of them run.
    """

    def __init__(self, idle: threading.Event) -> None:
        super().__init__()
        self.idle = idle

    def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self.idle.is_set():
            self.idle.wait(PATIENCE)
        return call(*args, **(kwargs or {}))

    def __exit__(self, *raised: Any) -> None:
        """Can be called again: an interrupt between a block and its exit would leave the thread in this mode."""
        while self in _get_current_function_mode_stack():  # type: ignore[no-untyped-call]
            super().__exit__(*raised)  # type: ignore[no-untyped-call]


class Behind:
    """The thread of a model, the batches that wait for it, and the model in front."""

    def __init__(self, model: "Background") -> None:
        keep_freed_memory()  # what an adaptation frees would go back to the system while all threads wait
        self.front = Front.__new__(Front)
        self.front.__setstate__(deepcopy(model._copied()))
        self.front.score = "before"  # there is no other at once
        self.waiting: deque[Batch] = deque()
        self.predicting: deque[int] = deque()  # calls that go on
        self.idle = threading.Event()  # there are none
        self.idle.set()
        # A compiled network would be compiled with whatever stands between its operations.
        compiled = any(hasattr(module, "_orig_mod") for module in model.model.modules())
        self.yielding: AbstractContextManager[Any] = nullcontext() if compiled else Yielding(self.idle)
        self.arrived = threading.Event()
        # No daemon: one that is inside torch when the interpreter ends aborts the process. It looks for the end itself.
        self.thread = threading.Thread(target=_work, args=(ref(model), ref(self), self.arrived))

    @contextmanager
    def in_front(self) -> Iterator[None]:
        """While a prediction goes on."""
        self.predicting.append(0)
        self.idle.clear()
        try:
            yield
        finally:
            self.predicting.pop()
            if not self.predicting:
                self.idle.set()


class Background(Adapted):
    """An adapted model whose calls do not wait for an adaptation.

    The model itself learns, in one thread, from batches that wait in a queue; a copy of it predicts. Calls other than
    predictions work off the queue first: `save` keeps a state in which every batch was learned from or dropped.
    """

    OWN = (*Adapted.OWN, "behind", "learned", "frame")
    exchanged = (*Adapted.exchanged, "learned")
    dropped = 0  # batches that found the queue full: predicted, and not learned from
    failed = 0  # batches that could not be learned from

    def __init__(self, *joined: Any, queue: int = QUEUE) -> None:
        super().__init__(*joined)
        self.queue = queue  # batches that may wait

    def renew(self) -> None:
        super().renew()
        self.behind: Behind | None = None
        self.learned: Batch | None = None  # the last batch that was learned from
        self.frame: FrameType | None = None  # in which a batch is being learned from

    def step(self, *inputs: Any, **named: Any) -> Outcome:
        """Predict a batch at once, and leave the rest to the thread behind."""
        if is_on_stack(self.frame):
            with super().alone("a step"):  # which refuses it
                pass
        behind = self.behind
        if behind is None or not behind.thread.is_alive():  # the first call, or one in a process that was forked
            with super().alone("a copy"):
                if self.behind is None or not self.behind.thread.is_alive():
                    self.behind = Behind(self)
                    self.behind.thread.start()
                behind = self.behind
        with behind.in_front():
            outcome = behind.front.step(*inputs, **named)
        if len(behind.waiting) > self.queue:
            self.dropped += 1
        elif not behind.front.frozen:
            behind.waiting.append(map_tensors((inputs, named), lambda value: value.detach().clone()))
            behind.arrived.set()
        measured = {"waiting": float(len(behind.waiting)), "dropped": float(self.dropped)}
        outcome = replace(outcome, diagnostics={**outcome.diagnostics, **measured})
        return outcome if self.on_step is None else super().tell(outcome)

    def tell(self, outcome: Outcome) -> Outcome:
        """Of a step behind, whose prediction nobody sees."""
        return outcome

    def wait(self) -> None:
        """Return when every batch that was given is learned from."""
        while self.work():
            pass

    def work(self) -> bool:
        """Learn from the batch that waits longest. Whether there was one.

        It waits until all is done, so that whatever cuts this off, the next call finishes it.
        """
        with self.lock:
            behind = self.behind
            if is_on_stack(self.frame) or behind is None or not behind.waiting:
                return False
            before, batch = (self.turns, self.method.domain), behind.waiting[0]
            finished, recalled = batch is self.learned, None
            try:
                self.frame = sys._getframe()
                with torch.inference_mode(False), behind.yielding:
                    if not finished:
                        super().step(*batch[0], **batch[1])
                    if isinstance(self.method, Reader):
                        recalled = self.method.recall_held()
            except Exception:
                self.failed += 1
                LOG.exception("a batch was predicted, and could not be learned from")
            finally:
                behind.yielding.__exit__(None, None, None)
                self.frame = None
            moved = (self.turns, self.method.domain) != before
            if finished or moved or self.method.moves_statistics or self.method.reads_memory:
                behind.idle.wait(PATIENCE)
                behind.front.take_over(self, recalled)
            behind.waiting.popleft()
            return True

    def take(self, x: Tensor, starts: Starts | None, largest: list[float], undo: Undo) -> Outcome:
        outcome = super().take(x, starts, largest, undo)
        self.learned = None if self.behind is None else self.behind.waiting[0]
        return outcome

    @contextmanager
    def alone(self, what: str) -> Iterator[None]:
        with self.lock:
            if not is_on_stack(self.frame):
                self.wait()
                if what not in KEEPING:
                    self.behind = None  # its front will be out of date; the next step makes another
            with super().alone(what):
                yield


def _work(model: "ref[Background]", behind: "ref[Behind]", arrived: threading.Event) -> None:
    """Until the model is gone, has another thread, or the program ends; what waits then is not learned from."""
    main = threading.main_thread()
    torch.get_num_threads()  # a new thread computes with as many as the program has chosen once it has asked
    while main.is_alive():
        arrived.wait(TICK)
        arrived.clear()
        while main.is_alive() and (found := model()) is not None and found.work():
            del found
        found = model()
        if found is None or found.behind is None or found.behind is not behind():
            return
        del found
