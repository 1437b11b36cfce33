"""Which statistics a method predicts with when it is paired with a memory."""

from dataclasses import replace
from typing import Any

from gotta.errors import GottaError, check_known
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
    check_known("pairing", pairing, PAIRINGS)
    told: dict[str, Any] = {name: value for name, value in (("fed_by", fed_by), ("rate", rate)) if value is not None}
    usual = pair(method.usual_statistics(has_memory, preset), has_memory, pairing, bool(told))
    if isinstance(statistics, Statistics):
        if told:
            raise GottaError(f"{', '.join(told)} must be given to the statistics themselves, as in Running(rate=0.05).")
        return statistics
    if statistics == "running" and usual.name != statistics:
        chosen: Statistics = Running(fed_by="batch" if usual.watches else "memory")
    else:
        chosen = usual if statistics is None else method.own_statistics(statistics, usual)
    if chosen.watches and ("rate" in told or fed_by == "memory"):
        wrong = f"statistics={chosen.name!r} follow the samples that are predicted, so they take no rate and no memory"
        raise GottaError(f"{', '.join(told)}: {wrong}. Leave it out, or use statistics='running'.")
    running = replace(chosen if isinstance(chosen, Running) else Running(), **told)  # which complains of bad numbers
    return running if isinstance(chosen, Running) else chosen


def pair(usual: Statistics, has_memory: bool, pairing: str, told: bool) -> Statistics:
    """The statistics that a pairing has where the usual ones are these. `told`: the caller has running ones in mind."""
    if has_memory and (pairing == "memory" or (pairing == "safe" and usual.needs_batch)):
        return usual if isinstance(usual, Running) else Running(fed_by="memory")
    if pairing == "safe" and not has_memory and not told and (usual.needs_batch or isinstance(usual, Running)):
        return Class()
    return usual


def check_settings_used(
    method: type[Method], name: str, memory: str | None, statistics: Statistics, given: dict[str, Any]
) -> None:
    """Raises where a setting was given that nothing would read. `memory`: the name of the policy, if rows last."""
    prior = given.get("prior") or method.native_prior
    if isinstance(prior, Prior) and given.get("order_in_batch") is not None:
        raise GottaError("order_in_batch must be given to the prior itself, as in Patient(order_in_batch='none').")
    samples, running = method.uses_memory or statistics.keeps_moments, isinstance(statistics, Running)
    reads: list[tuple[Any, tuple[str, ...], str]] = [
        (memory, ("capacity",), "a memory, and there is none. Name one, such as memory='fps'"),
        (samples, ("memory", "embedding"), f"methods that adapt on samples, and '{name}' does not. Use 'tent', say"),
        (running, ("rate", "fed_by"), f"statistics='running', not '{statistics.name}'. Give statistics='running' too"),
        (given.get("head") is not None, ("scale",), "a head of class embeddings, and there is none. Give head=..."),
        (prior != "none", ("labels", "order_in_batch"), "a prior, and there is none. Give prior='patient' too"),
    ]
    usual = {"embedding": "probs", "fed_by": "batch" if statistics.watches else None}
    for is_read, names, why in reads:
        for setting in () if is_read else names:
            value = memory if setting == "memory" else given.get(setting)
            if value is not None and value != usual.get(setting):
                raise GottaError(f"{setting}={value!r} is for {why}, or leave it out.")
