"""Weights as people have them: read without running code, taken out of their wrapping, and compared name by name."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor

from gotta.errors import GottaError, one_error
from gotta.files import HEAD, not_data
from gotta.json_yaml import parse_json

SUFFIXES = (".pt", ".pth", ".bin", ".tar", ".ckpt", ".safetensors")
NESTS = ("state_dict", "model_state_dict", "model_state", "model", "net")  # where training scripts put the tensors
PREFIXES = ("module.", "model.", "net.", "_orig_mod.", "1.")  # what wrappers write before every name
# What a checkpoint calls the mean and deviation that its network subtracts and divides by.
NORMALISATIONS = (("mean", "std"), ("mu", "sigma"), ("normalize.mean", "normalize.std"), ("0.mean", "0.std"))
SHOWN = 3


@dataclass(frozen=True)
class Checkpoint:
    """The tensors of a file by plain names, and the mean and deviation it was trained with, where it says so."""

    state: dict[str, Tensor]
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None


def read_checkpoint(path: Path) -> Checkpoint:
    """The tensors of a weights file, whatever they are nested in and whatever stands before their names."""
    _reject_what_is_no_weights(path)
    if path.suffix != ".safetensors":
        return unwrap(_tensors(_torch_load(path), path))
    metadata, state = read_safetensors(path)
    found = unwrap(_tensors(state, path))
    try:  # a file of ours says what it was trained with
        expects = parse_json(metadata["gotta"])["input"]
        return replace(found, mean=tuple(expects["mean"]), std=tuple(expects["std"]))
    except (KeyError, TypeError, ValueError):
        return found


def _torch_load(path: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the protocol of a plain pickle, which is then refused anyway
            return torch.load(path, "cpu", weights_only=True)
    except Exception as error:  # a damaged file makes torch raise nearly anything
        raise GottaError(_why_unreadable(path, error)) from None


def read_safetensors(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The metadata and the tensors of a safetensors file."""
    with one_error(f"{path} is not a readable safetensors file"), safe_open(path, "pt") as file:
        return file.metadata() or {}, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def _reject_what_is_no_weights(path: Path) -> None:
    if not path.is_file():
        raise GottaError(f"no weights at {path}. Expected a file such as .pt, .pth or .safetensors.")
    if path.suffix not in SUFFIXES:
        raise GottaError(f"{path} has no known ending. Expected one of {', '.join(SUFFIXES)}.")
    with path.open("rb") as file:
        begin = file.read(HEAD)
    if wrong := not_data(begin) or ("" if begin.strip() else "is empty"):
        raise GottaError(f"{path} {wrong}. Fetch it again.")


def _why_unreadable(path: Path, error: Exception) -> str:
    names = re.findall(r"(?:GLOBAL|global|class) ([\w.]*\w)", str(error))
    if isinstance(error, UnpicklingError) and names and "nsupported" in str(error):
        told = f"{path} holds more than tensors ({names[0]}), and reading that would run code from the file"
        return f"{told}. Where you trust it, save its state_dict alone with torch.save."
    return f"{path} is damaged or no torch file ({type(error).__name__}). Fetch it again, and compare its size."


def _tensors(found: Any, path: Path) -> dict[str, Tensor]:
    while isinstance(found, Mapping):
        inner = next((found[nest] for nest in NESTS if isinstance(found.get(nest), Mapping)), None)
        if inner is None:
            break
        found = inner
    if not isinstance(found, Mapping) or not any(isinstance(value, Tensor) for value in found.values()):
        held = ", ".join(map(str, list(found)[:SHOWN])) if isinstance(found, Mapping) else type(found).__name__
        expected = f"a state_dict, plain or under one of {', '.join(NESTS)}"
        raise GottaError(f"{path} holds no tensors by name (found: {held or 'nothing'}). Expected {expected}.")
    return {str(name): value for name, value in found.items() if isinstance(value, Tensor)}


def unwrap(state: Mapping[str, Tensor]) -> Checkpoint:
    """Names without the prefixes that all of them share, and the normalisation set apart."""
    found, mean, std = dict(state), None, None
    while True:
        for names in NORMALISATIONS:
            if all(name in found and found[name].numel() in (1, 3) for name in names):
                mean, std = (tuple(found.pop(name).flatten().expand(3).tolist()) for name in names)
        prefix = next((prefix for prefix in PREFIXES if found and all(name.startswith(prefix) for name in found)), None)
        if prefix is None:
            return Checkpoint(found, mean, std)
        found = {name.removeprefix(prefix): value for name, value in found.items()}


def fit_names(
    state: Mapping[str, Tensor], wanted: Mapping[str, Tensor], aliases: Mapping[str, str]
) -> dict[str, Tensor]:
    """The tensors under the names a network has for them."""
    found = {}
    for name, value in state.items():
        for theirs, ours in aliases.items():
            name = name if name in wanted else name.replace(theirs, ours)
        found[name] = value
    # Files from before torch 0.4.1 lack these counters, which nothing here reads.
    counters = {name: value for name, value in wanted.items() if name.endswith("num_batches_tracked")}
    return counters | found


def misfits(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """How the tensors of a file differ from those of a network: how many, and the first of each kind; "" if not."""
    missing = [name for name in wanted if name not in found]
    surplus = [name for name in found if name not in wanted]
    shapes = [
        f"{name} is {list(found[name].shape)}, expected {list(value.shape)}"
        for name, value in wanted.items()
        if name in found and found[name].shape != value.shape
    ]
    kinds = {"missing": missing, "not expected": surplus, "of another shape": shapes}
    return "; ".join(
        f"{len(names)} {kind} ({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
        for kind, names in kinds.items()
        if names
    )
