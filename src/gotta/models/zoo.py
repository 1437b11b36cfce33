"""Networks by name or path: safetensors whose metadata says what to build, what it takes and how it was trained."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from gotta.errors import GottaError, unknown
from gotta.files import write_atomically
from gotta.models.backbone import Backbone, Input, architectures

WEIGHTS = Path(__file__).parent / "weights"


def bundled() -> list[str]:
    """The names of the networks whose weights come with gotta."""
    return sorted(path.stem for path in WEIGHTS.glob("*.safetensors"))


def load(name_or_path: str | Path) -> Backbone:
    """A bundled network by name, or one saved by `gotta train` by its path, in evaluation mode."""
    path = Path(name_or_path)
    if path.suffix != ".safetensors":
        path = WEIGHTS / f"{name_or_path}.safetensors"
        if not path.exists():
            raise unknown("model", str(name_or_path), bundled())
    record, state = read(path)
    model = architectures.build(
        record["architecture"], num_classes=record["num_classes"], input=Input(**record["input"])
    )
    assert isinstance(model, Backbone)
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise GottaError(f"{path} does not fit the architecture '{record['architecture']}' it names: {error}") from None
    return model.eval()


def record(name_or_path: str | Path) -> dict[str, Any]:
    """How a network was trained: architecture, input, settings, accuracy by epoch."""
    path = Path(name_or_path)
    return read(path if path.suffix == ".safetensors" else WEIGHTS / f"{name_or_path}.safetensors")[0]


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
    return json.loads(metadata["gotta"]), state
