"""A module that threads can share: one re-entrant lock, which copies and pickles get anew."""

from copy import deepcopy
from threading import RLock
from typing import Any, Self

from torch import Tensor, nn


class Shared(nn.Module):
    """Whoever holds `lock` is alone with the module. Copies, pickles and `state_dict` are made between two calls."""

    OWN: tuple[str, ...] = ("lock",)  # what belongs to this object alone and is no state

    def __init__(self) -> None:
        super().__init__()
        self.lock = RLock()

    def renew(self) -> None:
        """Make anew, in a copy, what was not copied."""
        self.lock = RLock()

    def state_dict(self, *arguments: Any, **named: Any) -> Any:
        """The weights, as they are between two steps: copies, unless `keep_vars`."""
        with self.lock:
            found = super().state_dict(*arguments, **named)
            if not named.get("keep_vars"):
                mine = {name: value for name, value in found.items() if name.startswith(named.get("prefix", ""))}
                found.update({name: value.clone() for name, value in mine.items() if isinstance(value, Tensor)})
            return found

    def load_state_dict(self, *arguments: Any, **named: Any) -> Any:
        with self.lock:
            return super().load_state_dict(*arguments, **named)

    def __getstate__(self) -> dict[str, Any]:
        """For a pickle, which is written after the lock is given back."""
        with self.lock:
            return deepcopy(self._copied())

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.renew()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self.lock:
            memo[id(self)] = copied = type(self).__new__(type(self))
            copied.__setstate__(deepcopy(self._copied(), memo))
            return copied

    def _copied(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in self.OWN}
