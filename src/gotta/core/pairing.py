"""Which statistics a method predicts with when it is paired with a memory."""

from dataclasses import replace
from typing import Any

from gotta.errors import unknown
from gotta.methods import Method, Statistics

PAIRINGS = ("paper", "memory")


def choose_statistics(
    method: type[Method], has_memory: bool, pairing: str = "paper", preset: str = "official", **given: Any
) -> Statistics:
    """What a method predicts with: its own statistics without a memory, the pairing's with one, or what is given."""
    if pairing not in PAIRINGS:
        raise unknown("pairing", pairing, PAIRINGS)
    chosen = method.usual_statistics(has_memory, preset)
    if has_memory and pairing == "memory" and chosen.source != "running":
        chosen = Statistics("running", fed_by="memory")
    changes = {"source" if name == "statistics" else name: value for name, value in given.items() if value is not None}
    return replace(chosen, **changes)
