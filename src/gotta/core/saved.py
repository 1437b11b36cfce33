"""The state of an adapted model as a folder: numbers in safetensors, everything else in JSON. Nothing is unpickled.

`state.json` names the file with the tensors, whose name is its own hash. The tensors are written first and `state.json`
is then replaced in one step, so a kill at any moment leaves the old state or the new one.
"""

import hashlib
import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from gotta.errors import GottaError
from gotta.files import write_atomically
from gotta.memory.storage import is_device
from gotta.reading import check_plain, read_bytes, read_json

FORMAT = 1
RECORD = "state.json"
TENSORS = "tensors-{}.safetensors"
KEYS = ("format", "gotta", "method", "guard", "source", "recipe", "give_again", "tensors", "state")
MARK = "$"  # starts the name of whatever JSON cannot say by itself
LARGEST = 1 << 26  # bytes of the record
MOST_ROWS = 1 << 20  # that a state may make room for by itself


def write(folder: Path, record: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Save what describes a model (`record`, plain JSON) and its state (nested, with tensors) as one folder."""
    tensors: dict[str, Tensor] = {}
    tree = encode(state, tensors)
    data = to_bytes(tensors)
    digest = hashlib.sha256(data).hexdigest()
    name = TENSORS.format(digest[:16])
    whole = {"format": FORMAT, **record, "tensors": {"file": name, "sha256": digest}, "state": tree}
    try:  # what could not be read again is not written
        check_plain(whole)
        text = json.dumps(whole, indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST:
            raise ValueError(f"it has {len(text):,} characters, at most {LARGEST:,} are read; keep numbers in arrays")
    except ValueError as error:
        raise GottaError(f"the state cannot be saved to {folder}: {error}.") from None
    write_atomically(folder / name, data)
    write_atomically(folder / RECORD, text)
    for old in [*folder.glob(TENSORS.format("*")), *folder.glob("." + TENSORS.format("*") + ".*")]:
        if old.name != name:
            old.unlink(missing_ok=True)


def read(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the state of a saved folder, checked to be whole, with all tensors on the CPU."""
    record = _record(folder)
    try:
        path = folder / Path(record["tensors"]["file"]).name
        data = read_bytes(path, math.inf, links=True)
        if hashlib.sha256(data).hexdigest() != record["tensors"]["sha256"]:
            raise GottaError(f"{path} is damaged: its content is not what was saved. Restore it from a copy.")
        tensors = from_bytes(data)
        state = decode(record.pop("state"), tensors)
        _check_counters(state)
    except GottaError:
        raise
    except FileNotFoundError:
        raise GottaError(f"{path} is missing, and {RECORD} needs it. Copy the whole folder.") from None
    except (SafetensorError, OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise GottaError(f"{folder} is not a readable state: {type(error).__name__}: {error}.") from None
    return record, state


def fingerprint(model: nn.Module) -> str:
    """A hash of the names, shapes, types and values of a network: the same on every device."""
    digest = hashlib.sha256()
    tensors = {name: value for name, value in model.state_dict().items() if isinstance(value, Tensor)}
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {list(value.shape)} {value.dtype};".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def of_recipe(recipe: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that built a model, and the names of those that cannot be saved, such as functions."""
    saved, again = {}, []
    withheld = to_give_again(recipe or {})
    for name, value in (recipe or {}).items():
        if name in withheld:
            again.append(name)
            continue
        try:
            tensors: dict[str, Tensor] = {}
            saved[name] = encode(value, tensors)
        except GottaError:
            again.append(name)
            continue
        if tensors:
            again.append(name)
            del saved[name]
    return {"recipe": None if recipe is None else saved, "give_again": again}


def to_recipe(path: str | Path, record: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments to build a saved model with."""
    if record["recipe"] is None:
        raise GottaError(
            f"{path} was saved from a model that adapt() did not build. Build it alike and call its load()."
        )
    missing = [name for name in record["give_again"] if name not in again]
    if missing:
        raise GottaError(f"{path} cannot hold {', '.join(missing)}. Give it again: load(path, net, {missing[0]}=...).")
    try:
        recipe = decode(record["recipe"], {})
    except (KeyError, TypeError, ValueError) as error:
        raise GottaError(f"{path} is not a readable state: {type(error).__name__}: {error}.") from None
    for name, reason in to_give_again(recipe).items():
        if name not in again:
            raise GottaError(
                f"{path} has {name}={str(recipe[name])[:80]}, {reason}: a state cannot ask for that. "
                f"If you trust it, give it yourself: load(path, net, {name}=...)."
            )
    return {**recipe, **again}


def to_give_again(recipe: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that only a caller may give, because they run code, write files or take up room; and why."""
    found = {}
    for name in ("memory", "method"):
        if ":" in str(recipe.get(name, "")):
            found[name] = "which is code to import"
    policy = recipe.get("policy")
    if isinstance(policy, Mapping) and not is_device(policy.get("storage")):
        found["policy"] = "which writes to a file"
    for name in ("capacity", "num_classes"):
        rows = recipe.get(name)
        if isinstance(rows, int | float) and not rows <= MOST_ROWS:
            found[name] = "which is very much room"
    return found


def check_source(path: str | Path, record: Mapping[str, Any], source: str | None) -> None:
    if None not in (record["source"], source) and record["source"] != source:
        raise GottaError(
            f"{path} is the state of another network: names, shapes, types or weights of its source model differ from "
            f"this one's. Give the network that was adapted, as it was before adapting."
        )


def check_fit(path: str | Path, record: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Raises unless a saved state is of the same method, settings and source network."""
    check_source(path, record, mine["source"])
    saved = {"method": record["method"], "guard": record["guard"], **(record["recipe"] or {})}
    own = {"method": mine["method"], "guard": mine["guard"], **(mine["recipe"] or {})}
    for name in saved.keys() & own.keys() - {"num_classes"}:
        if saved[name] != own[name]:
            raise GottaError(f"{path} was saved with {name}={saved[name]}, this model has {own[name]}. Build it alike.")


def encode(value: Any, tensors: dict[str, Tensor], name: str = "") -> Any:
    """A nested value as JSON; its tensors go to `tensors` under their dotted names."""
    if isinstance(value, Tensor | np.ndarray):
        array = isinstance(value, np.ndarray)
        tensor = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        while name in tensors:
            name += "'"  # names with dots in them can meet
        # Cloned, because safetensors refuses tensors that share memory, such as tied weights.
        tensors[name] = tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {f"{MARK}array" if array else f"{MARK}tensor": name}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {f"{MARK}float": str(value)}
    if isinstance(value, Mapping):
        parts = [(key, encode(part, tensors, f"{name}.{key}" if name else str(key))) for key, part in value.items()]
        if all(isinstance(key, str) and not key.startswith(MARK) for key, _ in parts):
            return dict(parts)
        return {f"{MARK}dict": [[key, part] for key, part in parts]}
    if isinstance(value, list | tuple | set | frozenset):
        listed = sorted(value) if isinstance(value, set | frozenset) else value
        parts_ = [encode(part, tensors, f"{name}.{place}") for place, part in enumerate(listed)]
        kind = "tuple" if isinstance(value, tuple) else "list" if isinstance(value, list) else "set"
        return parts_ if kind == "list" else {f"{MARK}{kind}": parts_}
    raise GottaError(f"{name} is a {type(value).__name__}, which a saved state cannot hold.")


def decode(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    """The nested value that `encode` was given."""
    if isinstance(value, list):
        return [decode(part, tensors) for part in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and (key := next(iter(value))).startswith(MARK):
        return _special(key[len(MARK) :], value[key], tensors)
    return {key: decode(part, tensors) for key, part in value.items()}


def _check_counters(state: Any) -> None:
    """Raises unless everything is there, and counts are counts."""
    counts = [*state["counters"].values(), *(state["sample"] or ())]
    if {*state["counters"]} != {"offered", "adaptations"} or type(state["frozen"]) is not bool:
        raise ValueError("its counters are damaged")
    if not all(type(count) is int and 0 <= count < 1 << 62 for count in counts):
        raise ValueError("its counters are not counts")
    absent = {"method_state", "memory_state", "guard_state", "cost"} - state.keys()
    if absent:
        raise KeyError(", ".join(sorted(absent)))
    memory = state["memory_state"]
    if memory is not None and memory["num_classes"] != len(memory["seen"]) - 1:
        raise ValueError("its memory has another number of classes than it counts")
    if memory is not None and len(memory["slots"]) and list(memory["x"].shape[1:]) != state["sample"]:
        raise ValueError("its memory holds samples of another shape than it was given")


def _special(kind: str, value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if kind == "tensor":
        return tensors[value]
    if kind == "array":
        return tensors[value].numpy()
    if kind == "float":
        return float(value)
    if kind == "dict":
        return {key: decode(part, tensors) for key, part in value}
    if kind not in ("tuple", "set"):
        raise ValueError(f"{MARK}{kind} is unknown")
    parts = decode(value, tensors)
    return tuple(parts) if kind == "tuple" else set(parts)


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    try:
        record = read_json(path, LARGEST, links=True)
    except FileNotFoundError:
        raise GottaError(f"no saved state at {folder}. Expected a folder that save() wrote, with {RECORD}.") from None
    except NotADirectoryError:
        raise GottaError(f"{folder} is a file. Expected the folder of a saved adapted model.") from None
    except (OSError, ValueError) as error:
        raise GottaError(f"{path} is damaged: {error}. Restore it from a copy.") from None
    if not isinstance(record, dict) or not set(KEYS) <= record.keys():
        raise GottaError(f"{path} was not written by save(). Expected the folder of a saved adapted model.")
    if record["format"] != FORMAT:
        raise GottaError(
            f"{folder} has state format {record['format']} (written by gotta {record['gotta']}). "
            f"Expected format {FORMAT}: use the gotta version that wrote it."
        )
    if not _is_record(record):
        raise GottaError(f"{path} is damaged: what it says of the model is not what save() says. Restore it.")
    if record["recipe"] and record["recipe"].get("method") == "deskew":
        record["recipe"]["prior"] = record["recipe"].get("prior") or "sticky"  # of gotta 0.2, which did not say it
    return record


def _is_record(record: Mapping[str, Any]) -> bool:
    """Whether what describes the model is of the right kinds."""
    recipe, tensors = record["recipe"], record["tensors"]
    texts = [record["method"], *(record[name] or "" for name in ("guard", "source"))]
    return (
        (recipe is None or (isinstance(recipe, dict) and not {"model", "inplace"} & recipe.keys()))
        and isinstance(tensors, dict)
        and _are_texts([tensors.get("file"), tensors.get("sha256"), *texts])
        and isinstance(record["give_again"], list)
        and _are_texts(record["give_again"])
    )


def _are_texts(values: Collection[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
