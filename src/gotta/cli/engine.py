"""The options of `gotta bench` that tell an engine where to run."""

from typing import Any

from gotta.errors import GottaError


def engine_options(address: str, gpus: float, slurm: str) -> dict[str, Any]:
    """What was given of them, by the names that engines know them by."""
    if gpus < 0:
        raise GottaError(f"gpus={gpus:g}: expected 0 or more GPUs per cell.")
    given = {"address": address, "gpus": gpus, "options": _options(slurm)}
    return {name: value for name, value in given.items() if value}


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
