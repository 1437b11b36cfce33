"""The engine that the options of `gotta bench` describe."""

from typing import TYPE_CHECKING

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.experiment.sweep.engines import Engine


def make_engine(name: str, jobs: int, address: str = "", gpus: float = 0.0, slurm: str = "") -> "Engine":
    """The engine that the options describe; an option of another engine is a mistake."""
    from gotta.experiment.sweep.engines import ENGINES, engine

    for option, given, takes in (
        ("address", address, ["ray"]),
        ("gpus", gpus, ["ray", "slurm"]),
        ("slurm", slurm, ["slurm"]),
    ):
        if name in ENGINES and given and name not in takes:
            raise GottaError(f"--{option} is for --engine {' or '.join(takes)}, not for {name}.")
    if gpus < 0:
        raise GottaError(f"gpus={gpus:g}: expected 0 or more GPUs per cell.")
    if name == "ray":
        return engine(name, jobs, address=address or None, gpus=gpus)
    if name == "slurm":
        return engine(name, jobs, gpus=gpus, options=_options(slurm))
    return engine(name, jobs)


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
