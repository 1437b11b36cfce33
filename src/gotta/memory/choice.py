"""A memory that is chosen and not yet built: its name with its arguments."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gotta.errors import GottaError, unknown
from gotta.memory.policy import policies

OF_EVERY_MEMORY = ("capacity", "refresh_every", "storage")


@dataclass(frozen=True)
class MemoryChoice:
    """What `Memory.spec` gives and `gotta.adapt` takes."""

    name: str
    arguments: Mapping[str, Any]

    def __post_init__(self) -> None:
        policies.take(self.name)
        known = arguments_of(self.name)
        for name in self.arguments:
            if known is not None and name not in known:
                raise unknown(f"argument of memory '{self.name}'", name, known)

    def unfold(
        self, capacity: int | None, policy: Mapping[str, Any] | None
    ) -> tuple[str, int | None, dict[str, Any] | None]:
        """The name, the capacity and the other arguments. A capacity given twice must be the same."""
        if policy:
            raise GottaError("policy={...} goes with a memory's name. Give all arguments to gotta.Memory.spec.")
        others = {name: value for name, value in self.arguments.items() if name != "capacity"}
        own = self.arguments.get("capacity", capacity)
        if capacity not in (None, own):
            raise GottaError(f"capacity={capacity} and Memory.spec(..., capacity={own}) differ. Give it once.")
        return self.name, own, others or None


def arguments_of(name: str) -> list[str] | None:
    """What a memory takes besides the number of classes and the seed; None if it takes anything."""
    parameters = inspect.signature(policies.get(name)).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [*OF_EVERY_MEMORY, *(p.name for p in parameters)]


def check_owner(hyper: Mapping[str, Any], method: str, known: list[str], memory: str | None) -> None:
    """Complain of an argument given to a method that it does not know and a memory does."""
    for name, value in hyper.items():
        if name in known:
            continue
        if memory is not None and name in (arguments_of(memory) or ()):
            raise GottaError(
                f"'{name}' is an argument of memory '{memory}', not of method '{method}'. "
                f"Give it to the memory: memory=gotta.Memory.spec('{memory}', {name}={value!r})."
            )
        known_here = [other for other in policies.names() if not policies.is_outside(other)]
        if takers := [other for other in known_here if name in (arguments_of(other) or ())]:
            raise GottaError(
                f"'{name}' is not an argument of method '{method}'. Memories that take it: {', '.join(takers)}. "
                f"Give it to one of them: memory=gotta.Memory.spec('{takers[0]}', {name}={value!r})."
            )
