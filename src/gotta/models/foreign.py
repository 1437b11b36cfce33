"""Networks of other libraries by name (`timm:vit_base_patch16_224`), where installed; nothing is fetched."""

import importlib
import sys
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor, nn

from gotta.errors import GottaError, unknown
from gotta.models.backbone import Backbone, Input

EFFICIENTNET = "efficientnet_lite_pytorch"
LIBRARIES = ("timm", "torchvision", EFFICIENTNET)
HUB = "hf"  # whose networks come with their weights (pretrained.py)
LITE_INPUT = Input(224, (127 / 255,) * 3, (128 / 255,) * 3)
LITE_NAMES = tuple(f"efficientnet-lite{size}" for size in range(5))
PREFERRED = "IMAGENET1K_V1"  # of torchvision's records: the weights that adaptation papers use
_shims: list[torch.library.Library] = []  # operators live as long as the library that defined them


class Foreign(Backbone):
    """Another library's network, as `model`, behind the normalisation that its own record names."""

    def __init__(self, model: nn.Module, classifier: str | None, input: Input, num_classes: int) -> None:
        super().__init__(input, num_classes)
        self.model = model
        self.classifier = f"model.{classifier}" if classifier else ""

    def features(self, x: Tensor) -> Tensor:
        """What goes into the last layer."""
        if not self.classifier:
            raise GottaError("this network does not end in a linear layer, so it has no features. Use 'probs'.")
        heard: list[Tensor] = []
        layer = self.get_submodule(self.classifier)
        handle = layer.register_forward_pre_hook(lambda _, inputs: heard.append(inputs[0]))
        try:
            self.model(self.normalize(x))
        finally:
            handle.remove()
        return heard[-1]

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.model(self.normalize(x))
        return logits


def is_foreign(name: str) -> bool:
    return name.startswith(tuple(f"{library}:" for library in (*LIBRARIES, HUB)))


def check(name: str) -> None:
    """Complain of a name that the library does not know, or of a library that is not installed."""
    library, _, model = name.partition(":")
    if library == HUB:
        raise GottaError(f"'{name}' comes with its weights: give it weights=pretrained@REVISION.")
    known = _list_known(library)
    if model.partition(".")[0] not in known:  # timm writes a tag behind a dot
        raise unknown(f"{library}'s model", model, known)


def build(name: str, num_classes: int | None) -> Foreign:
    """An untrained network of that library, with as many classes as its published weights unless told otherwise."""
    library, _, model = name.partition(":")
    makers = {"timm": _from_timm, "torchvision": _from_torchvision, EFFICIENTNET: _from_efficientnet_lite}
    return makers[library](model, num_classes)


def _list_known(library: str) -> list[str]:
    if library == EFFICIENTNET:
        import_library(library)
        return list(LITE_NAMES)
    return list(import_library("timm" if library == "timm" else "torchvision.models").list_models())


def _from_timm(name: str, num_classes: int | None) -> Foreign:
    given = {} if num_classes is None else {"num_classes": num_classes}
    return wrap_timm(import_library("timm").create_model(name, pretrained=False, **given))


def wrap_timm(model: Any) -> Foreign:
    """A network of timm behind what its own record says."""
    record: dict[str, Any] = model.pretrained_cfg
    classifier = record.get("classifier")
    last = classifier if isinstance(classifier, str) else last_linear(model)
    return Foreign(model, last, Input(record["input_size"][-1], record["mean"], record["std"]), model.num_classes)


def _from_torchvision(name: str, num_classes: int | None) -> Foreign:
    models = import_library("torchvision.models")
    records = {record.name: record for record in models.get_model_weights(name)}
    record = records.get(PREFERRED) or next(iter(records.values()))
    transform = record.transforms()
    if not hasattr(transform, "crop_size"):
        raise GottaError(f"torchvision's '{name}' does not classify images. Choose one that does, such as resnet50.")
    classes = num_classes or len(record.meta["categories"])
    model = models.get_model(name, weights=None, num_classes=classes)
    expects = Input(transform.crop_size[0], tuple(transform.mean), tuple(transform.std))
    return Foreign(model, last_linear(model), expects, classes)


def _from_efficientnet_lite(name: str, num_classes: int | None) -> Foreign:
    classes = num_classes or 1000
    model = import_library(EFFICIENTNET).EfficientNet.from_name(name, num_classes=classes)
    return Foreign(model, last_linear(model), LITE_INPUT, classes)


def last_linear(model: nn.Module) -> str | None:
    """The name of the last linear layer."""
    names = [name for name, module in model.named_modules() if isinstance(module, nn.Linear)]
    return names[-1] if names else None


def import_library(name: str) -> Any:
    """A module of another library, or how to get it."""
    library = name.partition(".")[0]
    try:
        if library in ("timm", "torchvision") or (library == "transformers" and find_spec("torchvision")):
            _import_torchvision()  # the others import it too
        return importlib.import_module(name)
    except ImportError as error:
        extra = "hub" if library in ("transformers", "huggingface_hub") else library
        way_out = f"Install it with pip install gotta-tta[{extra}], or use an architecture of gotta's own."
        raise GottaError(f"models of {library} need it installed ({error}). {way_out}") from None


def _import_torchvision() -> None:
    """Import torchvision, also where its compiled library does not load: then two operators must be declared first."""
    try:
        importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        shim = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
        for operator in ("nms", "qnms"):
            signature = f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            shim.define(signature)  # type: ignore[no-untyped-call]
        _shims.append(shim)
        importlib.import_module("torchvision")
