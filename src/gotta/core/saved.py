"""The state of an adapted model as a folder: numbers in safetensors, everything else in JSON. Nothing is unpickled.

`state.json` names the file with the tensors, whose name is its own hash, and has a hash of all that it says. Tensors
are written first and `state.json` is then replaced in one step, so a kill at any moment leaves the old state or the new
one. Writers of one folder wait for one another; a reader whose tensors were tidied away meanwhile reads again.
"""

import errno
import hashlib
import inspect
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from gotta.errors import GottaError, one_error
from gotta.files import check_writable, write_atomically
from gotta.json_yaml import check_plain, open_plain, parse_json, read_bytes, read_json
from gotta.memory import Policy, policies
from gotta.priors import Prior, priors
from gotta.registry import Registry
from gotta.statistics import Statistics, statistics

FORMAT = 2
RECORD = "state.json"
TENSORS = "tensors-{}.safetensors"
ON_WINDOWS = os.name == "nt"
LOCK = ".lock"  # a file, on Windows only
KEYS = ("format", "gotta", "method", "guard", "source", "recipe", "give_again", "tensors", "state", "sha256")
MARK = "$"  # starts the name of whatever JSON cannot say by itself
LARGEST = 1 << 26  # bytes of the record
MOST_ROWS = 1 << 20  # that a state may make room for by itself
MOST_BYTES = 1 << 32  # of tensors, besides what the network and its memory explain
MOST_OF_NETWORK = 100  # times its own size: teachers, optimizers, what methods remember
MOST_OF_SAMPLE = 1 << 26  # bytes
AGAIN = 50  # times that a reader looks for the state that replaced another


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
        text = json.dumps(seal(whole), indent=1, allow_nan=False) + "\n"
        if len(text) > LARGEST:
            raise ValueError(f"it has {len(text):,} characters, at most {LARGEST:,} are read; keep numbers in arrays")
    except ValueError as error:
        raise GottaError(f"the state cannot be saved to {folder}: {error}.") from None
    with alone_in(folder):
        write_atomically(folder / name, data)
        write_atomically(folder / RECORD, text)
        for old in [*folder.glob(TENSORS.format("*")), *folder.glob("." + TENSORS.format("*") + ".*")]:
            if old.name != name:
                old.unlink(missing_ok=True)


def pack(record: Mapping[str, Any], state: Mapping[str, Any]) -> Tensor:
    """The same as one tensor of bytes, which every kind of checkpoint can hold."""
    tensors: dict[str, Tensor] = {}
    text = json.dumps({"format": FORMAT, **record, "state": encode(state, tensors)}, allow_nan=False).encode()
    data = to_bytes({**tensors, RECORD: torch.frombuffer(bytearray(text), dtype=torch.uint8)})
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def unpack(what: str, packed: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the state in such a tensor."""
    with one_error(f"{what} is not of an adapted model"):
        tensors = from_bytes(packed.cpu().numpy().tobytes())
        record = parse_json(tensors.pop(RECORD).numpy().tobytes().decode())
        if record["format"] != FORMAT:
            raise ValueError(f"it has format {record['format']}, expected {FORMAT}")
        state = decode(record.pop("state"), tensors)
        _check(state)
        return record, state


def seal(record: Mapping[str, Any]) -> dict[str, Any]:
    """With a hash of everything in it, that of the tensors included."""
    said = {name: value for name, value in record.items() if name != "sha256"}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return {**said, "sha256": hashlib.sha256(text.encode()).hexdigest()}


def read(folder: Path, network: int = 0, capacity: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the state of a saved folder, checked to be whole, with all tensors on the CPU.

    `network` are the bytes of the network and `capacity` the rows of the memory that it is for: what asks for much more
    room than these explain is refused before it is read.
    """
    record = _record(folder)
    for _ in range(AGAIN):
        path = folder / Path(record["tensors"]["file"]).name
        with one_error(f"{folder} is not a readable state"):
            try:
                return record, _state(path, record, network, capacity)
            except FileNotFoundError:
                before, record = record, _record(folder)
        if record["tensors"] == before["tensors"]:
            break
    raise GottaError(f"{path} is missing, and {RECORD} needs it. Copy the whole folder.")


def _state(path: Path, record: dict[str, Any], network: int, capacity: int) -> dict[str, Any]:
    _check_size(path, network, capacity)
    data = read_bytes(path, math.inf, links=True)
    if hashlib.sha256(data).hexdigest() != record["tensors"]["sha256"]:
        raise GottaError(f"{path} is damaged: its content is not what was saved. Restore it from a copy.")
    state: dict[str, Any] = decode(record["state"], from_bytes(data))
    _check(state)
    return state


def _check_size(path: Path, network: int, capacity: int) -> None:
    """Raises unless a file is as large as its header says, and that is what such a model may need."""
    with open_plain(path, links=True) as file:
        size = os.fstat(file.fileno()).st_size
        begins = int.from_bytes(file.read(8), "little")
        if not 0 < begins <= min(LARGEST, size):
            raise ValueError("its tensors have no header")
        header = parse_json(file.read(begins).decode())
    ends = [part["data_offsets"][1] for name, part in header.items() if name != "__metadata__"]
    if size != 8 + begins + max(ends, default=0):
        raise ValueError(f"its tensors have {size:,} bytes, and their header says otherwise")
    stored = header.get("memory.x", {"data_offsets": [0, 0], "shape": [0]})
    a_sample = (stored["data_offsets"][1] - stored["data_offsets"][0]) // max(1, *stored["shape"][:1])
    most = MOST_BYTES + MOST_OF_NETWORK * network + capacity * min(a_sample, MOST_OF_SAMPLE)
    if size > most:
        raise ValueError(f"its tensors have {size:,} bytes; at most {most:,} are read for such a model")


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """No other writer is inside. The system ends the wait when a process ends, however it ends."""
    check_writable(folder / RECORD)
    # The folder itself is locked, or a file in it where folders cannot be opened.
    opened = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT) if ON_WINDOWS else os.open(folder, os.O_RDONLY)
    try:
        _lock(opened)
        yield
    finally:
        os.close(opened)  # which gives the lock back


def _lock(opened: int) -> None:
    if not ON_WINDOWS:
        import fcntl

        fcntl.flock(opened, fcntl.LOCK_EX)
        return
    windows: Any = import_module("msvcrt")
    while True:
        try:
            windows.locking(opened, windows.LK_LOCK, 1)
            return
        except OSError as error:  # it waits for ten seconds
            if error.errno != errno.EDEADLOCK:
                raise


def fingerprint(model: nn.Module) -> str:
    """A hash of the names, shapes, types and values of a network: the same on every device."""
    digest = hashlib.sha256()
    tensors = {name: value for name, value in model.state_dict().items() if isinstance(value, Tensor)}
    for name, value in sorted(tensors.items()):
        digest.update(f"{name} {list(value.shape)} {value.dtype};".encode())
        digest.update(value.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def bytes_of(model: nn.Module) -> int:
    return sum(value.nbytes for value in [*model.parameters(), *model.buffers()])


def of_recipe(recipe: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments that built a model, and the names of those that cannot be saved, such as functions."""
    if recipe is None:
        return {"recipe": None, "give_again": []}
    saved, withheld = {}, to_give_again(recipe)
    for name, value in recipe.items():
        tensors: dict[str, Tensor] = {}
        with suppress(GottaError):
            told = encode(value, tensors)
            if not tensors and name not in withheld:
                saved[name] = told
    return {"recipe": saved, "give_again": [name for name in recipe if name not in saved]}


def to_recipe(path: str | Path, record: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments to build a saved model with."""
    if record["recipe"] is None:
        raise GottaError(f"{path} is of a model that adapt() did not build. Build it alike and call its load().")
    missing = [name for name in record["give_again"] if name not in again]
    if missing:
        raise GottaError(f"{path} cannot hold {', '.join(missing)}. Give it again: load(path, net, {missing[0]}=...).")
    try:
        recipe = decode(record["recipe"], {})
    except (KeyError, TypeError, ValueError) as error:
        raise GottaError(f"{path} is not a readable state: {type(error).__name__}: {error}.") from None
    for name, reason in to_give_again(recipe).items():
        if name not in again:
            told = f"{name}={str(recipe[name])[:80]}, {reason}: a state cannot ask for that"
            raise GottaError(f"{path} has {told}. If you trust it, give it yourself: load(path, net, {name}=...).")
    return {**recipe, **again}


def to_give_again(recipe: Mapping[str, Any]) -> dict[str, str]:
    """The arguments that only a caller may give, because they run code, write files or take up room; and why."""
    found = {}
    for name in ("memory", "method", "statistics", "prior"):
        if isinstance(recipe.get(name), str) and ":" in recipe[name]:
            found[name] = "which is code to import"
    for name in ("capacity", "num_classes"):
        rows = recipe.get(name)
        if isinstance(rows, int | float) and not rows <= MOST_ROWS:
            found[name] = "which is very much room"
    return found


def check_source(path: str | Path, record: Mapping[str, Any], source: str | None) -> None:
    if None not in (record["source"], source) and record["source"] != source:
        raise GottaError(f"{path} is the state of another network. Give the one that was adapted, as it was before.")


def check_fit(path: str | Path, record: Mapping[str, Any], mine: Mapping[str, Any]) -> None:
    """Raises unless a saved state is of the same method, settings and source network."""
    check_source(path, record, mine["source"])
    saved, own = ({"method": one["method"], "guard": one["guard"], **(one["recipe"] or {})} for one in (record, mine))
    for name in saved.keys() & own.keys() - {"num_classes", "streams", "idle"}:
        if saved[name] != own[name]:
            raise GottaError(f"{path} was saved with {name}={saved[name]}, this model has {own[name]}. Build it alike.")


def encode(value: Any, tensors: dict[str, Tensor], name: str = "") -> Any:
    """A nested value as JSON; its tensors go to `tensors` under their dotted names."""
    if isinstance(value, Policy | Prior | Statistics):
        return {f"{MARK}part": _describe_part(value)}
    if isinstance(value, Tensor | np.ndarray):
        kind = "array" if isinstance(value, np.ndarray) else "tensor"
        while name in tensors:
            name += "'"  # names with dots in them can meet
        # Cloned, because safetensors refuses tensors that share memory, such as tied weights.
        tensors[name] = torch.as_tensor(value).detach().cpu().clone(memory_format=torch.contiguous_format)
        return {f"{MARK}{kind}": name}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {f"{MARK}float": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        value = vars(value)
    if isinstance(value, Mapping):
        parts = [(key, encode(part, tensors, f"{name}.{key}" if name else str(key))) for key, part in value.items()]
        if all(isinstance(key, str) and not key.startswith(MARK) for key, _ in parts):
            return dict(parts)
        return {f"{MARK}dict": [[key, part] for key, part in parts]}
    if isinstance(value, list | tuple | set | frozenset):
        listed = sorted(value) if isinstance(value, set | frozenset) else value
        told = [encode(part, tensors, f"{name}.{place}") for place, part in enumerate(listed)]
        kind = "tuple" if isinstance(value, tuple) else "set"
        return told if isinstance(value, list) else {f"{MARK}{kind}": told}
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


def _check(state: Any) -> None:
    """Raises unless everything is there. Whether it fits is for those to say who own it."""
    absent = {"counters", "method", "memory", "guard", "cost", "beside"} - state.keys()
    if absent:
        raise KeyError(", ".join(sorted(absent)))
    if not isinstance(state["beside"], dict):
        raise ValueError("what was saved beside it has no names")
    memory = state["memory"]
    if memory is not None and (
        type(memory["num_classes"]) is not int or memory["num_classes"] != len(memory["seen"]) - 1
    ):
        raise ValueError("its memory has another number of classes than it counts")


def _special(kind: str, value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if kind == "tensor":
        return tensors[value]
    if kind == "part":
        return _build_part(**value)
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


PARTS: dict[str, Registry[Any]] = {registry.kind: registry for registry in (policies, priors, statistics)}


def _describe_part(part: Any) -> dict[str, Any]:
    """A part that comes with gotta, by its kind, name and arguments; others cannot be saved."""
    for kind, registry in PARTS.items():
        for name in registry.names():
            if not registry.is_user_part(name) and registry.get(name) is type(part):
                arguments = {name: getattr(part, name) for name in inspect.signature(type(part)).parameters}
                return {"kind": kind, "name": name, "arguments": encode(arguments, {})}
    raise GottaError(f"a {type(part).__name__} does not come with gotta, so a saved state cannot hold it.")


def _build_part(kind: str, name: str, arguments: Mapping[str, Any]) -> Any:
    registry = PARTS[kind]
    if registry.is_user_part(name):
        raise ValueError(f"{kind} '{name}' does not come with gotta")
    return registry.build(name, **decode(dict(arguments), {}))


def _record(folder: Path) -> dict[str, Any]:
    path = folder / RECORD
    try:
        record = read_json(path, LARGEST, links=True)
    except (FileNotFoundError, NotADirectoryError):
        raise GottaError(f"no saved state at {folder}. Expected a folder that save() wrote, with {RECORD}.") from None
    except (OSError, ValueError) as error:
        raise GottaError(f"{path} is damaged: {error}. Restore it from a copy.") from None
    if not isinstance(record, dict) or not set(KEYS) <= record.keys():
        raise GottaError(f"{path} was not written by save(). Expected the folder of a saved adapted model.")
    if record["format"] != FORMAT:
        writer = f"Use gotta {record['gotta']}, which wrote it"
        raise GottaError(f"{path} has format {record['format']}, not {FORMAT}. {writer}.")
    if seal(record)["sha256"] != record["sha256"] or not _is_record(record):
        raise GottaError(f"{path} is damaged: it does not say what was saved. Restore it from a copy.")
    return record


def _is_record(record: Mapping[str, Any]) -> bool:
    """Whether what describes the model is of the right kinds."""
    recipe, tensors, again = record["recipe"], record["tensors"], record["give_again"]
    if not (isinstance(recipe, dict | None) and isinstance(tensors, dict) and isinstance(again, list)):
        return False
    texts = [record["method"], record["guard"] or "", record["source"] or "", *again]
    told = all(isinstance(text, str) for text in (*texts, tensors.get("file"), tensors.get("sha256")))
    return told and not {"model", "inplace"} & (recipe or {}).keys()
