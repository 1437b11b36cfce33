"""What an adapted model needs to go on elsewhere bit for bit: gathered, written, and put back."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

import gotta
from gotta.core import saved
from gotta.core.inputs import device_of
from gotta.core.streams import Held, Key, begin, check_key, load_own, state_of_stream
from gotta.cost import PHASES
from gotta.errors import GottaError
from gotta.memory import Memory
from gotta.methods.parts.calls import map_tensors
from gotta.priors import Prior
from gotta.state import count, read_each, set_values, tensor, values_of
from gotta.statistics import Statistics

if TYPE_CHECKING:
    from gotta.core.between_steps import BetweenSteps

PACKED = "the state dict"
LEFT_OUT = ("method", "memory", "guard", "cost")  # of what is saved, where it is one stream without the others
Found = tuple[dict[str, Any], dict[str, Any]]  # a record and a state


def save(adapted: "BetweenSteps", path: Path, beside: Mapping[str, Any] | None = None) -> None:
    kept = {"snapshots": dict(adapted.snapshots), "beside": dict(beside or {})}
    whole = {**state_of(adapted), "cost": sum_costs(adapted), **kept}
    saved.write(path, identity(adapted), whole)


def pack(adapted: "BetweenSteps") -> Tensor:
    """What a state dict lacks: all but the network. Seconds are left out, so that equal models have equal ones."""
    state = state_of(adapted)
    method = {name: part for name, part in state["method"].items() if name != "model"}
    return saved.pack(identity(adapted), {**state, "method": method, "cost": {}, "beside": {}})


def unpack(adapted: "BetweenSteps", packed: Any) -> dict[str, Any]:
    """A state that `pack` made of a model built alike, with the network as it is here."""
    record, state = saved.unpack(PACKED, packed)
    saved.check_fit(PACKED, record, identity(adapted))
    method = {**state["method"], "model": dict(adapted.model.state_dict())}
    return {**state, "method": method, "cost": sum_costs(adapted)}


def read_fitting(adapted: "BetweenSteps", path: Path, found: Found | None = None) -> dict[str, Any]:
    """A saved state of a model that was built alike. `found`: what was read of it already."""
    record, state = found or saved.read(path, saved.bytes_of(adapted.model), adapted.memory.capacity)
    saved.check_fit(path, record, identity(adapted))
    return state


def identity(adapted: "BetweenSteps") -> dict[str, Any]:
    """What a state must have been saved with to be of this model."""
    return {
        "gotta": gotta.__version__,
        "method": type(adapted.method).__name__,
        "guard": None if adapted.guard is None else adapted.guard.action,
        "source": adapted.source_hash,
        **saved.of_recipe(adapted.recipe),
    }


def state_of(adapted: "BetweenSteps") -> dict[str, Any]:
    """Everything that the next step depends on."""
    memory, guard = adapted.memory, adapted.guard
    return {
        "counters": values_of(adapted),
        "method": adapted.method.state_dict(),
        "memory": memory.state_dict() if memory.knows_classes else None,
        "guard": None if guard is None else guard.state_dict(),
        "streams": [[key, state_of_stream(held)] for key, held in adapted.held_streams.items()],
        "shadow": None if adapted.shadow is None else adapted.shadow.state_dict(),
    }


def sum_costs(adapted: "BetweenSteps") -> dict[str, Any]:
    return {name: tally for name, tally in adapted.method.cost.summary().items() if name in PHASES}


def put_back(adapted: "BetweenSteps", what: Path | str, state: Mapping[str, Any]) -> None:
    """Raises where a state does not fit; then some of it may have been put."""
    try:
        kept = state.get("snapshots", {}).items()
        snapshots: dict[int, Mapping[str, Any]] = {count(number): dict(held) for number, held in kept}
        for held in snapshots.values():  # to see that one can go back to it
            put_state(adapted, held)
        put_state(adapted, state)
        if adapted.shadow is not None:
            adapted.shadow.load_state_dict(state["shadow"])
            adapted.shadow.check(adapted.classes)
        adapted.method.cost.restart(state["cost"])
        adapted.snapshots = snapshots
    except Exception as error:  # a state that does not fit may raise anything
        raise GottaError(f"the state in {what} does not fit this model: {error}") from error


def put_state(adapted: "BetweenSteps", state: Mapping[str, Any]) -> None:
    """All but the shadow, which goes on whatever happens to the model that it watches."""
    set_values(adapted, read_each(adapted.state, state["counters"]))
    if adapted.guard is not None:
        adapted.guard.load_state_dict(state["guard"])
        if adapted.guard.snapshot is not None:  # to see that one can go back to it
            _put_parts(adapted, adapted.guard.snapshot)
    _put_parts(adapted, state)
    if adapted.guard is not None:
        adapted.guard.check(adapted.sample, adapted.classes)
    adapted.held_streams = {check_key(key, "stream"): read_stream(adapted, part) for key, part in state["streams"]}


def _put_parts(adapted: "BetweenSteps", state: Mapping[str, Any]) -> None:
    fill_memory(adapted, adapted.memory, state["memory"])
    method = adapted.method
    method.load_state_dict(state["method"])
    remembered = {name: getattr(method, name) for name in method.remembers}
    check_sizes(adapted, adapted.memory, remembered, method.statistics, method.prior)


def check_sizes(
    adapted: "BetweenSteps", memory: Memory, remembered: Mapping[str, Any], statistics: Statistics, prior: Prior
) -> None:
    """Raises unless what was learned is of as many classes, and of such samples, as the model has met."""
    classes = memory.num_classes if memory.knows_classes else None
    known = {"classes": None if classes is None else (classes,), "sample": adapted.sample}
    adapted.method.check_remembered(remembered, {name: size for name, size in known.items() if size is not None})
    if classes is not None:
        statistics.check(classes)
        prior.check(classes)


def fill_memory(adapted: "BetweenSteps", memory: Memory, state: Mapping[str, Any] | None) -> None:
    if state is None:
        memory.forget_classes()
        return
    statistics = adapted.method.statistics
    expected = tuple(statistics.moments[0].shape[1:]) if statistics.keeps_moments else adapted.sample
    if len(state["slots"]) and tuple(state["x"].shape[1:]) != expected:
        raise ValueError("its memory holds samples of another shape than it was given")
    if not memory.knows_classes:
        memory.expect(state["num_classes"])
    memory.load_state_dict({**state, "x": state["x"].to(device_of(adapted.model))})


def move(adapted: "BetweenSteps", change: Callable[[Tensor], Tensor]) -> None:
    """Do to all that belongs to a model what was done to its network: move it to a device, or to another type."""
    for net in adapted.method.networks().values():
        if net is not adapted.model:
            net._apply(change)  # type: ignore[no-untyped-call]
    adapted.method.load_state_dict(adapted.method.state_dict())  # the optimizer follows its parameters
    if len(adapted.memory):
        memory = adapted.memory.state_dict()
        adapted.memory.load_state_dict({**memory, "x": change(memory["x"])})
    for watcher in (adapted.guard, adapted.shadow):
        if watcher is not None:
            watcher.source.model._apply(change)  # type: ignore[no-untyped-call]
    adapted.held_streams = {key: move_stream(held, change) for key, held in adapted.held_streams.items()}


def read_stream(adapted: "BetweenSteps", state: Mapping[str, Any]) -> Held:
    """A stream of this model from a saved state. Raises where it does not fit."""
    held = begin(adapted)
    readers = {name: adapted.state[name] for name in held.counters}
    load_own(held.statistics, state["statistics"])
    held.prior.load_state_dict(state["prior"])
    fill_memory(adapted, held.memory, state["memory"])
    remembered = adapted.method.read_remembered(state["remembered"]) if held.remembered else {}
    check_sizes(adapted, held.memory, remembered, held.statistics, held.prior)
    for name, generator in held.generators.items():
        generator.set_state(tensor(state["generators"][name]).cpu())
    buffers = [tensor(value).to(own, copy=True) for own, value in zip(held.buffers, state["buffers"], strict=True)]
    if any(own.shape != value.shape for own, value in zip(held.buffers, buffers, strict=True)):
        raise ValueError("its buffers are of another network")
    return replace(held, counters=read_each(readers, state["counters"]), remembered=remembered, buffers=buffers)


def move_stream(held: Held, change: Callable[[Tensor], Tensor]) -> Held:
    """On the device, or of the type, that the network has now."""
    held.statistics.load_state_dict(held.statistics.state_dict())
    if len(held.memory):
        memory = held.memory.state_dict()
        held.memory.load_state_dict({**memory, "x": change(memory["x"])})
    return replace(held, remembered=map_tensors(held.remembered, change), buffers=map_tensors(held.buffers, change))


def save_stream(model: "BetweenSteps", key: Key, held: Held, path: Path, beside: Mapping[str, Any]) -> None:
    streams = [[key, state_of_stream(held)]]
    state = {**dict.fromkeys(LEFT_OUT), "counters": values_of(model), "streams": streams}
    saved.write(path, identity(model), {**state, "beside": dict(beside)})


def load_stream(model: "BetweenSteps", path: Path) -> tuple[Held, dict[str, Any]]:
    """A stream that `save_stream` wrote of a model built alike, and what was saved beside it."""
    state = read_fitting(model, path)
    try:
        if model.sample is None:  # it has predicted nothing yet
            model.sample = read_each(model.state, state["counters"])["sample"]
        return read_stream(model, state["streams"][0][1]), dict(state["beside"])
    except Exception as error:
        raise GottaError(f"the state in {path} does not fit this model: {error}") from error
