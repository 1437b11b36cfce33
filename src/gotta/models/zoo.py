"""Networks by name or path: bundled ones, those of `gotta train`, and any architecture with a checkpoint of yours."""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch.overrides import TorchFunctionMode

from gotta.errors import GottaError, check_known, one_error, unknown
from gotta.files import write_atomically
from gotta.json_yaml import parse_json
from gotta.models import foreign, own, pretrained
from gotta.models.backbone import PREPROCESSING, Backbone, Input, architectures
from gotta.models.checkpoint import Checkpoint, fit_names, misfits, read_checkpoint, read_safetensors
from gotta.models.embedding import Embedding, check_names, read_head

log = logging.getLogger(__name__)
WEIGHTS = Path(__file__).parent / "weights"
RANDOM = "random"
Tensors = Mapping[str, torch.Tensor]


def bundled() -> list[str]:
    """The names of the networks whose weights come with gotta.

    >>> from gotta.models import bundled
    >>> "resnet20" in bundled()
    True
    """
    return sorted(path.stem for path in WEIGHTS.glob("*.safetensors"))


def load(
    name_or_path: str | Path,
    weights: str | Path | None = None,
    num_classes: int | None = None,
    preprocessing: str | Input | None = None,
    seed: int = 0,
    head: str | Path | None = None,
    scale: float | None = None,
) -> Backbone:
    """A network in evaluation mode: a bundled one by name, one saved by `gotta train` by its path, an architecture
    with `weights` (the path of a checkpoint, or "random" for untrained weights that `seed` decides), one of timm or
    Hugging Face with published weights (`hf:microsoft/resnet-50`, "pretrained@REVISION"), or what a function of the
    caller's own builds, `module:function`.

    The number of classes is the checkpoint's, unless `num_classes` insists on one. `preprocessing` names the mean and
    deviation of training (see PREPROCESSING) where they are not the architecture's usual ones and the file is silent.
    `head` is the file of a matrix of class embeddings, and `scale` what their cosine to the features is multiplied by
    (`embedding.Embedding`).

    `name_or_path` is that name, path or function.

    >>> import gotta
    >>> gotta.models.load("resnet20").num_classes
    10
    """
    name, given = str(name_or_path), None if weights is None else str(weights)
    log.info("loading %s, weights %s", name, weights)
    check(name, given, preprocessing, None if head is None else str(head), scale)
    if given is not None and pretrained.is_pretrained(given):
        model: Backbone = pretrained.load_pretrained(name, given)
    elif given is None and not own.is_own(name):
        model = _read_network(_find(name_or_path), num_classes)
    else:
        if own.is_own(name):
            own.find(name)
            num_classes = num_classes or (None if head is None else 1)  # features have no classes to tell
        found = None if given in (None, RANDOM) else read_checkpoint(Path(str(given)).expanduser())
        with own.drawing(seed):
            model = _make_sized(name, num_classes, found)
        if found is not None:
            net = model.model if isinstance(model, foreign.Foreign) else model
            net.load_state_dict(_fit(found.state, net.state_dict(), model.aliases, str(given), f"'{name}'"))
            if found.mean is not None and found.std is not None:
                model = _preprocess(model, replace(model.input, mean=found.mean, std=found.std))
    model = _preprocess(model, preprocessing).eval()
    return model if head is None else Embedding(model, read_head(str(head), Path(head), model), scale).eval()


def check(
    name: str,
    weights: str | None = None,
    preprocessing: str | Input | None = None,
    head: str | None = None,
    scale: float | None = None,
) -> None:
    """Complain of what `load` could not make sense of, without reading any weights."""
    check_names(head, scale)
    if isinstance(preprocessing, str):
        check_known("preprocessing", preprocessing, PREPROCESSING)
    if name.endswith(".safetensors"):
        if weights is not None:
            raise GottaError(f"'{name}' has weights, and weights='{weights}' are others. Name an architecture.")
    elif weights is not None and pretrained.is_pretrained(weights):
        pretrained.check(name, weights)
    elif own.is_own(name):
        own.check(name)
    elif foreign.is_foreign(name):
        foreign.check(name)
    elif weights is not None:
        architectures.get(name)
    elif name in bundled():
        return
    elif name not in architectures.names():
        known = {*bundled(), *architectures.names()}
        way_out = "A network of yours: its .safetensors file, or module:function."
        raise GottaError(f"{unknown('model', name, known)} {way_out}")
    if weights is None and (foreign.is_foreign(name) or name in architectures.names()):
        way_out = f"Give it weights=FILE with a checkpoint of yours, or weights={RANDOM} for untrained ones."
        raise GottaError(f"model '{name}' comes without weights. {way_out}")


def record(name_or_path: str | Path) -> dict[str, Any]:
    """How a network was trained: architecture, input, settings, accuracy by epoch.

    `name_or_path` is a bundled network by its name, or a file that `gotta train` wrote.

    >>> from gotta.models import record
    >>> record("resnet20")["architecture"]
    'resnet20'
    """
    check(str(name_or_path))
    return read(_find(name_or_path))[0]


class _Unfilled(TorchFunctionMode):
    """No weight is drawn: for tensors without numbers torch imports its compiler to do that, seconds of it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return args[0] if func is torch.Tensor.normal_ else func(*args, **(kwargs or {}))


def parameters(name: str) -> int:
    """How many numbers an architecture learns, counted without making them."""
    with torch.device("meta"), _Unfilled():
        model = architectures.build(name)
    return sum(parameter.numel() for parameter in model.parameters())


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
    if not path.is_file():
        raise GottaError(f"no network at {path}. Bundled ones: {', '.join(bundled())}.")
    metadata, state = read_safetensors(path)
    if "gotta" not in metadata:
        raise GottaError(f"{path} has no gotta record. Name its architecture and give the file as its weights.")
    with one_error(f"the gotta record of {path} is damaged"):
        return {**parse_json(metadata["gotta"])}, state


def _find(name_or_path: str | Path) -> Path:
    path = Path(name_or_path)
    return path if path.suffix == ".safetensors" else WEIGHTS / f"{name_or_path}.safetensors"


def _read_network(path: Path, num_classes: int | None) -> Backbone:
    """The network of a file of ours, which says what it is."""
    record, state = read(path)
    name = record.get("architecture")
    if name is None:
        raise GottaError(f"the record of {path} has no architecture. Expected a file of 'gotta train'.")
    if not isinstance(name, str) or (":" in name and not architectures.is_permitted(name)):
        told = f"{path} names the architecture '{name}', which is not registered, so it was not imported"
        raise GottaError(f"{told}. If you trust it, name it yourself and give the file as its weights.")
    with one_error(f"the record of {path} describes no network"):
        classes = record["num_classes"] if num_classes is None else num_classes
        expects = Input(record["input"]["size"], tuple(record["input"]["mean"]), tuple(record["input"]["std"]))
        with torch.device("meta"):  # so that a size nobody can hold costs nothing
            wanted = architectures.build(name, num_classes=classes, input=expects).state_dict()
    fitting = _fit(state, wanted, architectures.get(name).aliases, path, f"the architecture '{name}' it names")
    with own.drawing(0):
        model: Backbone = architectures.build(name, num_classes=classes, input=expects)
    model.load_state_dict(fitting)
    return model


def _build(name: str, num_classes: int | None) -> Backbone:
    if ":" in name:
        return foreign.build(name, num_classes) if foreign.is_foreign(name) else own.build(name, num_classes)
    given = {} if num_classes is None else {"num_classes": num_classes}
    model: Backbone = architectures.build(name, **given)
    return model


def _make_sized(name: str, num_classes: int | None, found: Checkpoint | None) -> Backbone:
    """The network with as many classes as the checkpoint's last layer has rows, if the number is left open."""
    if num_classes is not None or found is None or own.is_own(name):
        return _build(name, num_classes)
    ours = not foreign.is_foreign(name)
    last = architectures.get(name).classifier if ours else _build(name, None).classifier.removeprefix("model.")
    rows = found.state.get(f"{last}.weight")
    return _build(name, None if rows is None or rows.ndim != 2 else len(rows))


def _fit(
    state: Tensors, wanted: Tensors, aliases: Mapping[str, str], path: str | Path, what: str
) -> dict[str, torch.Tensor]:
    """The tensors of a file under the names of a network, or an error that says which do not fit."""
    fitting = fit_names(state, wanted, aliases)
    if wrong := misfits(wanted, fitting):
        raise GottaError(f"{path} does not fit {what}: {wrong}. Of {len(wanted)} tensors.")
    return fitting


def _preprocess(model: Backbone, preprocessing: str | Input | None) -> Backbone:
    if preprocessing is not None:
        named = preprocessing if isinstance(preprocessing, Input) else Input(0, *PREPROCESSING[preprocessing])
        model.input = replace(model.input, mean=named.mean, std=named.std)
        for name in ("mean", "std"):
            model.get_buffer(name).copy_(torch.tensor(getattr(named, name)).view(1, -1, 1, 1))
    return model
