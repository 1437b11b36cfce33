"""Networks by name or path: safetensors whose metadata says what to build, what it takes and how it was trained."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from gotta.errors import GottaError, unknown
from gotta.files import write_atomically
from gotta.models.backbone import Backbone, Input, architectures

WEIGHTS = Path(__file__).parent / "weights"


def bundled() -> list[str]:
    """The names of the networks whose weights come with gotta."""
    return sorted(path.stem for path in WEIGHTS.glob("*.safetensors"))


def load(name_or_path: str | Path) -> Backbone:
    """A bundled network by name, or one saved by `gotta train` by its path, in evaluation mode."""
    path = _find(name_or_path)
    record, state = read(path)
    missing = {"architecture", "num_classes", "input"} - record.keys()
    if missing:
        raise GottaError(f"the record of {path} has no {', '.join(sorted(missing))}. Expected a file of 'gotta train'.")
    expects = Input(record["input"]["size"], tuple(record["input"]["mean"]), tuple(record["input"]["std"]))
    with torch.random.fork_rng(devices=[]):  # weights are drawn and thrown away; the caller's generator must not notice
        model = architectures.build(record["architecture"], num_classes=record["num_classes"], input=expects)
    assert isinstance(model, Backbone)
    misfits = _misfits(model.state_dict(), state)
    if misfits:
        raise GottaError(
            f"{path} does not fit the architecture '{record['architecture']}' it names: {'; '.join(misfits[:3])}"
            + (f"; and {len(misfits) - 3} more." if len(misfits) > 3 else ".")
        )
    model.load_state_dict(state)
    return model.eval()


def record(name_or_path: str | Path) -> dict[str, Any]:
    """How a network was trained: architecture, input, settings, accuracy by epoch."""
    return read(_find(name_or_path))[0]


def save_model(model: Backbone, architecture: str, path: Path, **training: Any) -> None:
    """Write weights and record in one file, aside first, so that no half-written network is ever found."""
    record = {
        "architecture": architecture,
        "num_classes": model.num_classes,
        "input": asdict(model.input),
        "training": training,
    }
    state = {name: value.contiguous() for name, value in model.state_dict().items()}
    write_atomically(path, save(state, {"gotta": json.dumps(record)}))


def read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record and the tensors of a network file."""
    try:
        with safe_open(path, "pt") as file:
            metadata = file.metadata() or {}
            state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise GottaError(f"no network at {path}. Bundled ones: {', '.join(bundled())}.") from None
    except (SafetensorError, OSError) as error:
        raise GottaError(f"{path} is not a readable safetensors file: {error}") from None
    if "gotta" not in metadata:
        raise GottaError(
            f"{path} has no gotta record, so its architecture is unknown. Expected a file of 'gotta train'."
        )
    try:
        record = json.loads(metadata["gotta"])
    except json.JSONDecodeError as error:
        raise GottaError(f"the gotta record of {path} is damaged: {error}. Fetch or train it again.") from None
    return record, state


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    if path.suffix == ".safetensors":
        return path
    path = WEIGHTS / f"{name_or_path}.safetensors"
    if not path.exists():
        raise GottaError(f"{unknown('model', str(name_or_path), bundled())} A network of yours: its .safetensors file.")
    return path


def _misfits(wanted: dict[str, Tensor], found: dict[str, Tensor]) -> list[str]:
    """How the tensors of a file differ from those of a network, by name and shape."""
    lacking = [f"no {name}" for name in wanted if name not in found]
    surplus = [f"unknown {name}" for name in found if name not in wanted]
    shapes = [
        f"{name} is {list(found[name].shape)}, expected {list(value.shape)}"
        for name, value in wanted.items()
        if name in found and found[name].shape != value.shape
    ]
    return lacking + surplus + shapes
