"""Which arguments belong to a memory, for messages to somebody who gave them to a method."""

import inspect
from collections.abc import Mapping
from typing import Any

from gotta.errors import GottaError
from gotta.memory.policy import policies

OF_EVERY_MEMORY = ("capacity", "refresh_every", "storage")


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
                f"Give it to the memory: memory={_written(memory, name, value)}."
            )
        known_here = [other for other in policies.names() if not policies.is_user_part(other)]
        if takers := [other for other in known_here if name in (arguments_of(other) or ())]:
            raise GottaError(
                f"'{name}' is not an argument of method '{method}'. Memories that take it: {', '.join(takers)}. "
                f"Give it to one of them: memory={_written(takers[0], name, value)}."
            )


def _written(memory: str, name: str, value: Any) -> str:
    if name in OF_EVERY_MEMORY:
        return f"gotta.Memory('{memory}', ..., {name}={value!r})"
    return f"gotta.memory.{policies.get(memory).__name__}({name}={value!r})"
