"""Memory for test-time adaptation: which samples drive the adaptation matters as much as the objective."""

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gotta import data, models, streams
    from gotta.core.adapted import Adapted
    from gotta.core.build import adapt, load
    from gotta.filter import Filter
    from gotta.memory import Memory
    from gotta.workflow import Plan, Result, bench, plan, run
    from gotta.workflow.advice import advise

__version__ = "0.2.0"
__all__ = [
    "Adapted",
    "Filter",
    "GottaError",
    "Memory",
    "Plan",
    "Result",
    "adapt",
    "advise",
    "bench",
    "data",
    "list_memories",
    "list_methods",
    "load",
    "models",
    "plan",
    "run",
    "streams",
]

from gotta.errors import GottaError

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless the caller asks
_HOMES = {
    "gotta.workflow.advice": ("advise",),
    "gotta.core.adapted": ("Adapted",),
    "gotta.core.build": ("adapt", "load"),
    "gotta.filter": ("Filter",),
    "gotta.memory": ("Memory",),
    "gotta.workflow": ("Plan", "Result", "bench", "plan", "run"),
}
_PARTS = ("data", "models", "streams", "memory", "methods", "metrics", "statistics", "priors")


def __getattr__(name: str) -> Any:
    """Import torch only when something that needs it is asked for: `gotta --help` answers at once."""
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(home), name)
    if name in _PARTS:
        return import_module(f"gotta.{name}")
    raise AttributeError(f"module 'gotta' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS, "__version__"})


def list_memories() -> list[str]:
    """The names of all memory policies.

    >>> import gotta
    >>> "fps" in gotta.list_memories()
    True
    """
    from gotta.memory import policies

    return policies.names()


def list_methods() -> list[str]:
    """The names of all methods.

    >>> import gotta
    >>> "tent" in gotta.list_methods()
    True
    """
    from gotta.methods import methods

    return methods.names()
