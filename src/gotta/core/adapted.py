"""The adapted model: one step is predict, observe, adapt. The only copy of that logic."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import gotta
from gotta.core import saved as adapt_state
from gotta.core.guard import Guard, only_predicting
from gotta.core.inputs import check_batch, check_logits, device_of, output_types, shield_group_norms
from gotta.core.pairing import choose_statistics
from gotta.cost import PHASES, Cost
from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.methods import Method, methods
from gotta.types import Prediction

UNREADABLE = (  # what a misfit state raises
    RuntimeError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    MemoryError,
    OverflowError,
)


@dataclass(frozen=True)
class Outcome:
    """What a step gave: the prediction to use, where each sample was stored (-1: not), and what was done for it."""

    prediction: Prediction
    slots: Tensor  # [B]
    adaptations: int
    cost: dict[str, Any] = field(default_factory=dict)  # seconds, forwards and backwards by phase
    diagnostics: dict[str, float] = field(default_factory=dict)


class Adapted(nn.Module):
    """A model that adapts to the stream it predicts. Calling it gives logits; `step` tells what happened besides."""

    def __init__(
        self,
        method: Method,
        memory: Memory,
        adapt_every: int | None = None,
        score: str = "before",
        guard: Guard | None = None,
    ) -> None:
        super().__init__()
        self.model = method.model
        shield_group_norms(self.model)
        self.method, self.memory, self.guard = method, memory, guard
        self.adapt_every, self.score = adapt_every, score
        if guard is not None:
            guard.source.cost = method.cost  # one account, in which the guard has a phase of its own
        method.capacity = memory.capacity
        # Without a memory the batch that is predicted is the one to adapt on, so its forward serves both.
        method.keep_graph = memory.policy.holds_batch and adapt_every is None
        self.offered = self.adaptations = 0
        self.frozen = False
        self.recipe: dict[str, Any] | None = None  # the arguments of `adapt`, to build this model again
        self.source_hash: str | None = None
        self._memory_for: Callable[[int], Memory] | None = None  # until the first batch tells the number of classes
        self._sample: torch.Size | None = None
        predictors = [method.predictor, *([] if guard is None else [guard.source.model])]
        self._types = output_types(predictors)

    def forward(self, x: Tensor) -> Tensor:
        logits = self.step(x).prediction.logits
        return logits.to(self._types[0]) if self._types else logits

    def step(self, x: Tensor) -> Outcome:
        """Predict a batch, offer it to the memory, adapt when due. A batch that is refused changes nothing."""
        check_batch(x, self._sample, self.method.needs_batch)
        # Adapting needs gradients whatever mode the caller is in, and a tensor made in inference mode cannot have any.
        with torch.inference_mode(False), torch.enable_grad():
            x = x.clone() if x.is_inference() else x.detach()
            if self.frozen:
                return self._look(x)
            if self.guard is not None and self.guard.sheltering:
                return self._shelter(x, self.guard)
            return self._step(x)

    def _step(self, x: Tensor) -> Outcome:
        phase = self.method.cost.phase
        with phase("predict"):
            prediction = self.method.predict(x)
        if self.guard is not None and self.guard.action != "warn" and not torch.isfinite(prediction.logits).all():
            self.guard.trip(self.method, self.memory, "its logits are NaN or infinite")
            return self._shelter(x, self.guard)
        self._expect(prediction.logits)
        self._sample = x.shape[1:]
        self._settle(prediction.logits.shape[1])
        slots, adaptations, diagnostics = [], self.adaptations, {}
        for part, due in self._parts(len(x)):
            with phase("observe"):
                slots.append(self._observe(x[part], prediction, part))
            if due:
                with phase("adapt"):
                    held = self.memory.batch()
                    diagnostics = self.method.adapt(held) if len(held) else {}
                    self.adaptations += 1
                with phase("refresh"):
                    self._refresh()
        if self.method.moves_statistics and self.method.statistics.fed_by == "batch":
            with phase("adapt"):
                self.method.feed(x)
        # Inside autocast the caller's context would go on using weights as they were before this step.
        torch.clear_autocast_cache()
        done = self.adaptations - adaptations
        if self.guard is not None:
            diagnostics = {**diagnostics, **self.guard.watch(self.method, self.memory, x, prediction)}
        if self.score == "after":
            with phase("predict"), only_predicting(self.method):
                prediction = self.method.predict(x)
        return Outcome(prediction, torch.cat(slots), done, self._spent(), diagnostics)

    def _look(self, x: Tensor) -> Outcome:
        """Predict, and change nothing."""
        with self.method.cost.phase("predict"), only_predicting(self.method):
            prediction = self.method.predict(x)
            self._expect(prediction.logits)
        return self._untouched(x, prediction)

    def _shelter(self, x: Tensor, guard: Guard) -> Outcome:
        """Predict as the source model while the guard finds the adapted one unhealthy."""
        prediction, diagnostics = guard.predict(self.method, self.memory, x)
        self._expect(prediction.logits)
        return self._untouched(x, prediction, diagnostics)

    def _untouched(self, x: Tensor, prediction: Prediction, diagnostics: dict[str, float] | None = None) -> Outcome:
        return Outcome(prediction, torch.full((len(x),), -1), 0, self._spent(), diagnostics or {})

    def freeze(self) -> None:
        """From now on only predict, with the state as it is: nothing is observed, nothing adapts."""
        self.frozen = True

    def unfreeze(self) -> None:
        """Adapt again."""
        self.frozen = False

    @torch.inference_mode(False)
    def reset(self) -> None:
        """Back to the source model and an empty memory."""
        self.method.reset()
        self.memory.reset()
        if self.guard is not None:
            self.guard.reset()
        self.offered = self.adaptations = 0

    def save(self, path: str | Path, beside: Mapping[str, Any] | None = None) -> None:
        """Write everything needed to go on bit for bit into a folder, whole or not at all.

        `beside` is kept with it and given back by `load`: where the stream was, for one. Arrays and what JSON can say.
        """
        adapt_state.write(Path(path), self._record(), {**self._state(), "beside": dict(beside or {})})

    @torch.inference_mode(False)
    def load(self, path: str | Path) -> dict[str, Any]:
        """Go on from a saved state of a model built alike; what was saved beside it.

        A state that does not fit changes nothing.
        """
        record, state = adapt_state.read(Path(path))
        adapt_state.check_fit(path, record, self._record())
        before, recipe = self._state(), self.recipe and dict(self.recipe)
        memory, memory_for = self.memory, self._memory_for
        try:
            self._restore(state)
        except UNREADABLE as error:
            self.recipe, self.memory, self._memory_for = recipe, memory, memory_for
            self._restore(before)
            raise GottaError(f"the state in {path} does not fit this model: {error}") from error
        return dict(state.get("beside", {}))

    def train(self, mode: bool = True) -> "Adapted":
        """The method alone decides which layers are in which mode, so train() and eval() do not reach the model."""
        self.training = mode
        return self

    @property
    def notes(self) -> list[str]:
        """What a reader of its results should know about its memory and its method."""
        return [*self.memory.notes, *self.method.notes]

    def __repr__(self) -> str:
        method, trained, spent = self.method, self.method.trained, self.method.cost.summary()["total"]
        names = ", ".join(list(trained)[:3]) + (", ..." if len(trained) > 3 else "")
        everything = sum(parameter.numel() for parameter in self.model.parameters())
        lines = [
            f"method={type(method).__name__.lower()}, statistics={method.statistics.source}"
            + (", frozen" if self.frozen else ""),
            f"{sum(p.numel() for p in trained.values()):,} trained parameters of {everything:,}"
            + (f": {names}" if names else ""),
            f"memory={self.memory.policy!r}, {len(self.memory)} of {self.memory.capacity} rows",
            f"{self.adaptations} adaptations in {self.offered} samples",
            f"cost so far: {spent['forwards']} forwards, {spent['backwards']} backwards, {spent['seconds']:.2f} s",
        ]
        if self.guard is not None:
            lines.append(repr(self.guard))
        lines += self.notes
        return f"Adapted {type(self.model).__name__}(\n  " + "\n  ".join(lines) + "\n)"

    def _record(self) -> dict[str, Any]:
        return {
            "gotta": gotta.__version__,
            "method": type(self.method).__name__,
            "guard": None if self.guard is None else self.guard.action,
            "source": self.source_hash,
            **adapt_state.of_recipe(self.recipe),
        }

    def _state(self) -> dict[str, Any]:
        return {
            "method_state": self.method.state_dict(),
            "memory_state": None if self._memory_for else self.memory.state_dict(),
            "guard_state": None if self.guard is None else self.guard.state_dict(),
            "counters": {"offered": self.offered, "adaptations": self.adaptations},
            "frozen": self.frozen,
            "sample": None if self._sample is None else list(self._sample),
            "cost": {name: tally for name, tally in self.method.cost.summary().items() if name in PHASES},
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        memory, device = state["memory_state"], device_of(self.model)
        if memory is None:
            self.memory.reset()
        else:
            self._settle(memory["num_classes"])
            self.memory.load_state_dict({**memory, "x": memory["x"].to(device)})
        self.method.load_state_dict(state["method_state"])
        if self.guard is not None:
            self.guard.load_state_dict(state["guard_state"])
        self.offered, self.adaptations = state["counters"]["offered"], state["counters"]["adaptations"]
        self.frozen = state["frozen"]
        self._sample = None if state["sample"] is None else torch.Size(state["sample"])
        self.method.cost = cost = Cost()
        if self.guard is not None:
            self.guard.source.cost = cost
        for name, tally in state["cost"].items():
            cost.add(name, **tally)
        cost.take()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "Adapted":
        """Moving the model moves what belongs to it: teachers, optimizer, stored samples, the guard's source."""
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        for net in self.method.networks().values():
            if net is not self.model:
                net._apply(fn)  # type: ignore[no-untyped-call]
        self.method.load_state_dict(self.method.state_dict())  # the optimizer follows its parameters
        if len(self.memory):
            memory = self.memory.state_dict()
            self.memory.load_state_dict({**memory, "x": fn(memory["x"])})
        if self.guard is not None:
            self.guard.source.model._apply(fn)  # type: ignore[no-untyped-call]
        return self

    def _settle(self, classes: int) -> None:
        """Build the memory now that the number of classes is known."""
        if self._memory_for is not None:
            self.memory, self._memory_for = self._memory_for(classes), None
            assert self.recipe is not None
            self.recipe["num_classes"] = classes

    def _expect(self, logits: Tensor) -> None:
        check_logits(logits, None if self._memory_for else self.memory.num_classes)

    def _spent(self) -> dict[str, Any]:
        return self.method.cost.take()

    def _observe(self, x: Tensor, prediction: Prediction, part: slice) -> Tensor:
        slots = self.memory.observe(
            x,
            label=prediction.label[part],
            uncertainty=prediction.uncertainty[part],
            embedding=prediction.embedding[part],
        )
        self.offered += len(x)
        return torch.as_tensor(slots)

    def _refresh(self) -> None:
        every = self.memory.refresh_every
        if every and self.adaptations % every == 0:
            self.memory.refresh(self.method.predict)

    def _parts(self, size: int) -> Iterator[tuple[slice, bool]]:
        """The batch cut where an adaptation is due."""
        if self.adapt_every is None:
            yield slice(0, size), True
            return
        start = 0
        while start < size:
            stop = min(size, start + self.adapt_every - self.offered % self.adapt_every)
            yield slice(start, stop), (self.offered + stop - start) % self.adapt_every == 0
            start = stop


@torch.inference_mode(False)  # parameters copied in inference mode could never be trained
def adapt(
    model: nn.Module,
    method: str = "rotta",
    memory: str | Memory = "none",
    capacity: int | None = None,
    num_classes: int | None = None,
    *,
    pairing: str = "paper",
    statistics: str | None = None,
    fed_by: str | None = None,
    rate: float | None = None,
    adapt_every: int | None = None,
    score: str | None = None,
    embedding: str = "probs",
    seed: int = 0,
    guard: str | None = None,
    inplace: bool = False,
    policy: dict[str, Any] | None = None,
    **hyper: Any,
) -> Adapted:
    """Make a model adapt to the stream it predicts: `adapt(net, method="tent", memory="fps", capacity=64)(x)`.

    A copy of the model is adapted unless `inplace`. `hyper` are the method's hyper-parameters, `policy` the memory's.
    Without `num_classes` the first batch tells. `guard` is "warn", "freeze" or "rollback": what to do on collapse.
    """
    given = {name: value for name, value in locals().items() if name not in ("model", "inplace", "hyper")}
    later = None
    if isinstance(memory, str):
        later = partial(Memory, memory, capacity, seed=seed, **(policy or {}))
        memory = later(num_classes=1 if num_classes is None else num_classes)
    has_memory = not memory.policy.holds_batch
    cls = methods.take(method)
    preset = hyper.get("preset", "official")
    chosen = choose_statistics(cls, has_memory, pairing, preset, statistics=statistics, fed_by=fed_by, rate=rate)
    source_hash = adapt_state.fingerprint(model)
    watcher = None if guard is None else Guard(guard, methods.build("source", model=deepcopy(model), embed=embedding))
    net = model if inplace else deepcopy(model)
    built = methods.build(method, model=net, statistics=chosen, embed=embedding, seed=seed, **hyper)
    every = memory.capacity if has_memory and adapt_every is None else adapt_every
    adapted = Adapted(built, memory, every, score or cls.native_score, watcher)
    adapted.recipe, adapted.source_hash = {**given, **hyper}, source_hash
    if later is not None and num_classes is None:
        adapted._memory_for = later
    return adapted


@torch.inference_mode(False)
def load(path: str | Path, model: nn.Module, *, inplace: bool = False, **again: Any) -> Adapted:
    """Go on where `save` left off, with the network that was given to `adapt`, on whatever device it is now.

    `again` gives the arguments of `adapt` that a state cannot hold: a function, a finished memory, `module:Class`, a
    file to store samples in. Loading runs no code that the state names.
    """
    record, _ = adapt_state.read(Path(path))
    arguments = adapt_state.to_recipe(path, record, again)
    adapt_state.check_source(path, record, adapt_state.fingerprint(model))
    try:
        adapted = adapt(model, inplace=inplace, **arguments)
    except GottaError:
        raise
    except UNREADABLE as error:
        raise GottaError(f"no model can be built from {path}: {type(error).__name__}: {error}.") from error
    adapted.load(path)
    return adapted
