"""Which statistics a method predicts with when it is paired with a memory."""

from dataclasses import replace
from typing import Any

from gotta.errors import GottaError, unknown
from gotta.methods import Method, Statistics
from gotta.methods.settings import BY_LEVEL

PAIRINGS = ("paper", "memory", "safe")


def choose_statistics(
    method: type[Method], has_memory: bool, pairing: str = "paper", preset: str = "official", **given: Any
) -> Statistics:
    """What a method predicts with: its own statistics without a memory, the pairing's with one, or what is given.

    With the pairing `safe` no prediction depends on the mix of classes in its batch, with a memory or without.
    """
    if pairing not in PAIRINGS:
        raise unknown("pairing", pairing, PAIRINGS)
    chosen = method.usual_statistics(has_memory, preset)
    if has_memory and pairing == "memory" and chosen.source != "running":
        chosen = Statistics("running", fed_by="memory")
    if pairing == "safe" and chosen.source == "batch" and has_memory:
        chosen = Statistics("running", fed_by="memory")
    told = given.get("rate") is not None or given.get("fed_by") is not None  # of running statistics
    if pairing == "safe" and chosen.source in ("batch", "running") and not has_memory and not told:
        chosen = Statistics("class")
    by_level = (given.get("statistics") or chosen.source) in BY_LEVEL
    if by_level and given.get("rate") is not None:
        raise GottaError(
            f"statistics='{given.get('statistics') or chosen.source}' has no rate to choose. Leave it out."
        )
    changes = {"source" if name == "statistics" else name: value for name, value in given.items() if value is not None}
    return replace(chosen, **({"fed_by": None} if by_level else {}) | changes)


def check_settings_used(
    method: type[Method], name: str, has_memory: bool, statistics: Statistics, given: dict[str, Any]
) -> None:
    """Raises where a setting was given that nothing would read."""
    prior = given.get("prior") or method.native_prior
    unread = {
        "a memory, and there is none. Name one, such as memory='fps'": () if has_memory else ("capacity", "policy"),
        f"methods that adapt on samples, and '{name}' does not. Name one, such as method='tent'": (
            () if method.uses_memory else ("embedding",)
        ),
        f"statistics='running', and these are '{statistics.source}'. Give statistics='running' too": (
            () if statistics.source == "running" else ("rate", "fed_by")
        ),
        "a prior, and there is none. Give prior='patient' too": ("labels", "order_in_batch") if prior == "none" else (),
    }
    usual = {"embedding": "probs", "fed_by": statistics.fed_by if statistics.by_level else None}
    for why, names in unread.items():
        for setting in names:
            value = given.get(setting)
            if value is not None and value != usual.get(setting):
                raise GottaError(f"{setting}={value!r} is for {why}, or leave it out.")


def check_memory_used(method: type[Method], name: str, memory: str) -> None:
    """Raises where a memory would fill up for nothing."""
    if not method.uses_memory:
        raise GottaError(
            f"memory '{memory}' has no effect with method '{name}', which does not adapt on samples. Leave the memory "
            "out, or name a method that uses it, such as method='tent' or method='rotta'."
        )
