"""Published weights by name and revision (`timm:resnet50`, `hf:microsoft/resnet-50` with `pretrained@REVISION`).

The one place where gotta fetches a network, and only because the caller asks for it; what was fetched before, or a
snapshot in a folder (`hf:./resnet-50`), needs no network connection. No pickles: weights must be safetensors.
"""

from pathlib import Path

from torch import Tensor, nn

from gotta.errors import GottaError, one_error
from gotta.json_yaml import read_json
from gotta.models.backbone import PREPROCESSING, Input
from gotta.models.foreign import Foreign, import_library, last_linear, wrap_timm

PRETRAINED = "pretrained"
LIBRARIES = ("timm", "hf")
PATHS = ("/", "./", "../", "~")  # what a folder of the user's own begins with


class Logits(nn.Module):
    """A classifier of transformers that answers with its logits alone."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.net(pixel_values=x).logits
        return logits


def is_pretrained(weights: str | Path | None) -> bool:
    return isinstance(weights, str) and weights.partition("@")[0] == PRETRAINED


def check(name: str, weights: str) -> None:
    """Complain of what could not be fetched, or not fetched again as it is now."""
    library, colon, model = name.partition(":")
    if not colon or library not in LIBRARIES:
        raise GottaError(f"weights '{weights}' are for networks of timm: and hf:, not for '{name}'.")
    if not weights.partition("@")[2] and not _is_folder(model):
        if model.startswith(PATHS):
            raise GottaError(f"there is no folder '{model}'. Expected a snapshot: config.json and model.safetensors.")
        told = f"'{name}' may change where it is published. Name a revision, which the run keeps"
        raise GottaError(f"{told}: weights={PRETRAINED}@COMMIT (or {PRETRAINED}@main).")


def load_pretrained(name: str, weights: str) -> Foreign:
    """The network with its published weights, and the input that its own record names."""
    library, _, model = name.partition(":")
    with one_error(f"the weights of '{name}' cannot be had"):  # no connection, no such name, no safetensors
        return (_from_timm if library == "timm" else _from_hugging_face)(model, weights.partition("@")[2])


def find_snapshot(name: str) -> Path | None:
    """The file of weights in the folder that `hf:./resnet-50` names; nothing of what is fetched by its revision."""
    model = name.partition(":")[2]
    return Path(model).expanduser() / "model.safetensors" if _is_folder(model) else None


def _is_folder(model: str) -> bool:
    return model.startswith(PATHS) and Path(model).expanduser().is_dir()


def _from_timm(name: str, revision: str) -> Foreign:
    timm = import_library("timm")
    if _is_folder(name):
        where = f"local-dir:{Path(name).expanduser()}"
    else:
        known = timm.get_pretrained_cfg(name)
        where = f"hf-hub:{known.hf_hub_id if known else f'timm/{name}'}@{revision}"
    return wrap_timm(timm.create_model(where, pretrained=True))


def _from_hugging_face(name: str, revision: str) -> Foreign:
    maker = import_library("transformers").AutoModelForImageClassification
    folder = str(Path(name).expanduser()) if _is_folder(name) else name
    chosen = {"revision": revision} if revision else {}
    net = Logits(maker.from_pretrained(folder, use_safetensors=True, **chosen))
    return Foreign(net, last_linear(net), _read_input(folder, revision), net.net.config.num_labels)  # type: ignore[union-attr, arg-type]


def _read_input(folder: str, revision: str) -> Input:
    """Size, mean and deviation from the record beside the weights."""
    if Path(folder).is_dir():
        path = Path(folder) / "preprocessor_config.json"
    else:
        fetch = import_library("huggingface_hub").hf_hub_download
        path = Path(fetch(folder, "preprocessor_config.json", revision=revision))
    record = read_json(path, links=True)
    size = record.get("crop_size") or record.get("size", 224)
    side = size if isinstance(size, int) else size.get("height") or size.get("shortest_edge")
    mean, std = PREPROCESSING["imagenet"]
    return Input(int(side), tuple(record.get("image_mean", mean)), tuple(record.get("image_std", std)))
