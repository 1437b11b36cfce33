"""Which statistics a method predicts with when it is paired with a memory."""

from dataclasses import replace
from typing import Any

from gotta.errors import GottaError, unknown
from gotta.methods import Method
from gotta.priors import Prior
from gotta.statistics import Class, Running, Statistics

PAIRINGS = ("paper", "memory", "safe")


def choose_statistics(
    method: type[Method],
    has_memory: bool,
    pairing: str = "paper",
    preset: str = "official",
    statistics: str | Statistics | None = None,
    fed_by: str | None = None,
    rate: float | None = None,
) -> Statistics:
    """What a method predicts with: its own statistics without a memory, the pairing's with one, or what is given.

    With the pairing `safe` no prediction depends on the mix of classes in its batch, with a memory or without.
    """
    if pairing not in PAIRINGS:
        raise unknown("pairing", pairing, PAIRINGS)
    told = {name: value for name, value in (("fed_by", fed_by), ("rate", rate)) if value is not None}
    usual = pair(method.usual_statistics(has_memory, preset), has_memory, pairing, bool(told))
    if isinstance(statistics, Statistics):
        if told:
            raise GottaError(f"{', '.join(told)} must be given to the statistics themselves, as in Running(rate=0.05).")
        return statistics
    return set_running(name_statistics(method, statistics, usual), told)


def pair(usual: Statistics, has_memory: bool, pairing: str, told: bool) -> Statistics:
    """The statistics that a pairing has where the usual ones are these. `told`: the caller has running ones in mind."""
    if has_memory and (pairing == "memory" or (pairing == "safe" and usual.needs_batch)):
        return usual if isinstance(usual, Running) else Running(fed_by="memory")
    if pairing == "safe" and not has_memory and not told and (usual.needs_batch or isinstance(usual, Running)):
        return Class()
    return usual


def name_statistics(method: type[Method], name: str | None, usual: Statistics) -> Statistics:
    """Those of this name, as the method has them if it does."""
    if name == "running" and usual.name != name:
        return Running(fed_by="batch" if usual.watches else "memory")
    return usual if name is None else method.own_statistics(name, usual)


def set_running(chosen: Statistics, told: dict[str, Any]) -> Statistics:
    """With what was given for running statistics; others that move by themselves take none of it."""
    if chosen.watches and "rate" in told:
        raise GottaError(f"statistics='{chosen.name}' has no rate to choose. Leave it out.")
    if chosen.watches and told.get("fed_by") == "memory":
        raise GottaError(
            f"statistics='{chosen.name}' is moved by the samples that are predicted, not by a memory. Leave fed_by "
            "out, or use statistics='running'."
        )
    running = replace(chosen if isinstance(chosen, Running) else Running(), **told)
    return running if isinstance(chosen, Running) else chosen


def check_settings_used(
    method: type[Method], name: str, has_memory: bool, statistics: Statistics, given: dict[str, Any]
) -> None:
    """Raises where a setting was given that nothing would read."""
    prior = given.get("prior") or method.native_prior
    if isinstance(prior, Prior) and given.get("order_in_batch") is not None:
        raise GottaError("order_in_batch must be given to the prior itself, as in Patient(order_in_batch='none').")
    unread = {
        "a memory, and there is none. Name one, such as memory='fps'": () if has_memory else ("capacity",),
        f"methods that adapt on samples, and '{name}' does not. Name one, such as method='tent'": (
            () if method.uses_memory or statistics.keeps_moments else ("embedding",)
        ),
        f"statistics='running', and these are '{statistics.name}'. Give statistics='running' too": (
            () if isinstance(statistics, Running) else ("rate", "fed_by")
        ),
        "a prior, and there is none. Give prior='patient' too": ("labels", "order_in_batch") if prior == "none" else (),
    }
    usual = {"embedding": "probs", "fed_by": "batch" if statistics.watches else None}
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
