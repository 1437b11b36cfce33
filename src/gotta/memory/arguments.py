"""Which arguments belong to a memory, for messages to somebody who gave them to a method."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from gotta.errors import GottaError
from gotta.memory.policy import policies

OF_EVERY_MEMORY = ("capacity", "refresh_every", "storage")


def check_owner(hyper: Mapping[str, Any], method: str, known: Iterable[str], memory: str | None) -> None:
    """Complain of an argument given to a method that it does not know and a memory does."""
    for name in hyper.keys() - known:
        own = [other for other in policies.names() if not policies.is_user_part(other)]
        takers = [other for other in own if name in inspect.signature(policies.get(other)).parameters]
        chosen = memory if memory in takers or name in OF_EVERY_MEMORY else next(iter(takers), None)
        if chosen is not None:
            maker = f"gotta.memory.{policies.get(chosen).__name__}(" if takers else f"gotta.Memory('{chosen}', ..., "
            raise GottaError(
                f"'{name}' is an argument of memories ({', '.join(takers) or 'all'}), not of method '{method}'. Give "
                f"it to one of them: memory={maker}{name}={hyper[name]!r})."
            )
