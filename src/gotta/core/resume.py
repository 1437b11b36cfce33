"""What an adapted model needs to go on elsewhere bit for bit: gathered, written, and put back whole."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import gotta
from gotta.core import saved
from gotta.core.inputs import Scale, device_of
from gotta.cost import PHASES
from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.core.adapted import Adapted

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


def save(adapted: "Adapted", path: Path, beside: Mapping[str, Any] | None = None) -> None:
    saved.write(
        path, identity(adapted), {**state_of(adapted), "cost": sum_costs(adapted), "beside": dict(beside or {})}
    )


def load(adapted: "Adapted", path: Path) -> dict[str, Any]:
    """Put a saved state into a model built alike; what was saved beside it. One that does not fit changes nothing."""
    record, state = saved.read(path)
    saved.check_fit(path, record, identity(adapted))
    before = {**state_of(adapted), "cost": sum_costs(adapted)}
    try:
        put_back(adapted, state)
    except UNREADABLE as error:
        put_back(adapted, before)
        raise GottaError(f"the state in {path} does not fit this model: {error}") from error
    return dict(state.get("beside", {}))


def identity(adapted: "Adapted") -> dict[str, Any]:
    """What a state must have been saved with to be of this model."""
    return {
        "gotta": gotta.__version__,
        "method": type(adapted.method).__name__,
        "guard": None if adapted.guard is None else adapted.guard.action,
        "source": adapted.source_hash,
        **saved.of_recipe(adapted.recipe),
    }


def state_of(adapted: "Adapted") -> dict[str, Any]:
    """Everything that the next step depends on."""
    memory, guard, sample = adapted.memory, adapted.guard, adapted.sample
    return {
        "method_state": adapted.method.state_dict(),
        "memory_state": memory.state_dict() if memory.knows_classes else None,
        "guard_state": None if guard is None else guard.state_dict(),
        "counters": {"offered": adapted.offered, "adaptations": adapted.adaptations},
        "scale": asdict(adapted.scale),
        "frozen": adapted.frozen,
        "sample": None if sample is None else list(sample),
    }


def sum_costs(adapted: "Adapted") -> dict[str, Any]:
    return {name: tally for name, tally in adapted.method.cost.summary().items() if name in PHASES}


def put_back(adapted: "Adapted", state: Mapping[str, Any]) -> None:
    memory = state["memory_state"]
    if memory is None:
        adapted.memory.forget_classes()
    else:
        if not adapted.memory.knows_classes:
            adapted.memory.expect(memory["num_classes"])
        adapted.memory.load_state_dict({**memory, "x": memory["x"].to(device_of(adapted.model))})
    adapted.method.load_state_dict(state["method_state"])
    if adapted.guard is not None:
        adapted.guard.load_state_dict(state["guard_state"])
    adapted.offered, adapted.adaptations = state["counters"]["offered"], state["counters"]["adaptations"]
    adapted.scale = Scale(**state.get("scale", {}))  # which an earlier version did not save
    adapted.frozen = state["frozen"]
    adapted.sample = None if state["sample"] is None else torch.Size(state["sample"])
    adapted.method.cost.restart(state["cost"])


def move(adapted: "Adapted", change: Callable[[Tensor], Tensor]) -> None:
    """Do to all that belongs to a model what was done to its network: move it to a device, or to another type."""
    for net in adapted.method.networks().values():
        if net is not adapted.model:
            net._apply(change)  # type: ignore[no-untyped-call]
    adapted.method.load_state_dict(adapted.method.state_dict())  # the optimizer follows its parameters
    if len(adapted.memory):
        memory = adapted.memory.state_dict()
        adapted.memory.load_state_dict({**memory, "x": change(memory["x"])})
    if adapted.guard is not None:
        adapted.guard.source.model._apply(change)  # type: ignore[no-untyped-call]
