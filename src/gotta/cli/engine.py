"""The options of `gotta bench` that tell an engine where to run."""

from math import inf
from typing import Any

from gotta.errors import GottaError


def engine_options(address: str, gpus: float, resources: str, pack: int, slurm: str) -> dict[str, Any]:
    """What was given of them, by the names that engines know them by."""
    if gpus < 0 or pack < 1:
        raise GottaError(f"gpus={gpus:g}, pack={pack}: expected 0 or more GPUs and at least one cell per job.")
    given = {"address": address, "gpus": gpus, "resources": _resources(resources), "options": _options(slurm)}
    return {name: value for name, value in given.items() if value} | ({"pack": pack} if pack > 1 else {})


def _resources(text: str) -> dict[str, float]:
    """`memory=16,highmem=1` by name."""
    parts = [part.partition("=") for part in text.split(",") if part]
    try:
        amounts = {name: float(value) for name, _, value in parts}
    except ValueError:
        amounts = {"": 0.0}
    if not all(name and 0 < amount < inf for name, amount in amounts.items()):
        raise GottaError(f"--resources {text}: expected name=amount by comma, memory in GB: memory=16,highmem=1.")
    return amounts


def _options(text: str) -> dict[str, str]:
    """`partition=gpu,minutes=60` by name."""
    parts = [part.partition("=") for part in text.split(",") if part]
    if wrong := [name for name, equals, value in parts if not (name and equals)]:
        raise GottaError(
            f"slurm option '{wrong[0]}' has no value. Expected name=value by comma: partition=gpu,minutes=60."
        )
    if not all(value.isascii() and value.isdigit() and int(value[:9]) for name, _, value in parts if name == "minutes"):
        raise GottaError(f"--slurm {text}: expected minutes as a whole number above 0.")
    return {name: value for name, _, value in parts}
