"""Which GPUs of this machine the workers of a sweep get. Nothing here starts CUDA."""

import os
from collections.abc import Sequence

import torch

from gotta.errors import GottaError

VARIABLE = "CUDA_VISIBLE_DEVICES"


def find_gpus() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES takes: numbers, or UUIDs."""
    named = os.environ.get(VARIABLE)
    if named is None:
        return [str(number) for number in range(torch.cuda.device_count())]
    names = [name.strip() for name in named.split(",")]
    return names[: names.index("-1")] if "-1" in names else [name for name in names if name]


def choose_gpus(wanted: float, device: str) -> list[str]:
    """The first `wanted` GPUs for a sweep on `device`; all of them where none are asked for, none on another device."""
    if device != "cuda":
        if wanted:
            raise GottaError(f"gpus={wanted:g} needs the device 'cuda', got '{device}'.")
        return []
    found = find_gpus()
    if wanted != int(wanted) or wanted > len(found):
        raise GottaError(
            f"gpus={wanted:g}: expected a whole number of at most {len(found)}, the GPUs of this machine"
            f"{': ' + ', '.join(found) if found else ''}. More jobs than GPUs share them: --jobs 16 --gpus 8."
        )
    return found[: int(wanted)] if wanted else found


def least_used(gpus: Sequence[str], used: Sequence[str]) -> str:
    """The GPU that the fewest workers have, the first of several."""
    return min(gpus, key=used.count)
