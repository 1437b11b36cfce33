"""The doctor: what a model is like before it is adapted, found out by feeding it images, without labels.

*Are the images normalised as in training?* Three ways of feeding them are compared: as they are (from 0 to 1),
normalised once more, and with one normalisation taken back, for the usual means and deviations. Where the model has
trained BatchNorm layers, the right way is the one under which the statistics that reach the first of them are those it
keeps from training. Elsewhere it is the one under which an image and its mirror image are predicted alike, and other
images otherwise; that is weaker evidence, so only a clear difference counts, and otherwise the answer is "cannot tell".
"""

import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.instancenorm import _InstanceNorm

from gotta.core.build import adapt
from gotta.data import bundled
from gotta.errors import GottaError
from gotta.methods import methods
from gotta.models import PREPROCESSING
from gotta.processor import Bfloat16, probe_bfloat16
from gotta.safe_text import tell_number
from gotta.statistics.normalization import has_batch_norm
from gotta.types import torch_images

__all__ = ["examine"]

AS_EXPECTED, TWICE, NOT_AT_ALL, CANNOT_TELL = "as expected", "normalised twice", "not normalised", "cannot tell"
NORMALISATION = (_BatchNorm, _InstanceNorm, nn.GroupNorm, nn.LayerNorm)
COMMON = [PREPROCESSING[name] for name in ("cifar10", "imagenet", "half")]
HALF = (torch.float16, torch.bfloat16)
OURS = "test-time adaptation"  # what our own description says
PROBES, STEP = 64, 16  # images that are fed, and those of them that one step of a method takes
SIZES = (32, 224)  # tried in turn where no images are given
CLEARLY = 0.5  # another way of feeding must leave at most this share of the mismatch
CONSISTENT = 0.15  # or be this much more consistent
TRAINED = 0.3  # consistency below which a model is taken to be untrained


@dataclass(frozen=True)
class Step:
    """What one step of a method does to this model."""

    note: str = ""  # why it does nothing, if so
    forwards: int = 0
    backwards: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Report:
    """What was found. `problems` is what to fix before adapting."""

    layers: dict[str, int]
    train_mode: bool
    outputs: str  # logits, probabilities or log-probabilities
    inputs: str
    evidence: str
    bfloat16: Bfloat16 = field(default_factory=Bfloat16)
    namesake: str = ""  # the version of another project called gotta that is installed here
    steps: dict[str, Step] = field(default_factory=dict)
    half: str = ""  # the type of weights in half precision

    @property
    def no_ops(self) -> list[str]:
        """The methods that would do nothing to this model."""
        return [name for name, step in self.steps.items() if step.note]

    @property
    def problems(self) -> list[str]:
        found = {
            "left in train mode: call eval() before using it as it is; gotta adapts a copy": self.train_mode,
            f"the outputs are {self.outputs}: methods take logits, remove the last softmax": self.outputs != "logits",
            "the images look normalised twice: leave it out either in the model or before it": self.inputs == TWICE,
            "the images look not normalised: do as in training, before the model or in it": self.inputs == NOT_AT_ALL,
            f"another project called gotta ({self.namesake}) is installed, with the same module and command: "
            "pip uninstall gotta, then pip install --force-reinstall gotta-tta": bool(self.namesake),
            f"half precision ({self.half}) loses small steps: adapt model.float() in autocast": bool(self.half),
            "no normalisation layers: methods that train or re-estimate them have nothing to do": not self.layers,
        }
        return [problem for problem, there in found.items() if there]

    def __str__(self) -> str:
        layers = ", ".join(f"{count} {name}" for name, count in self.layers.items()) or "none"
        lines = [
            f"normalisation layers  {layers}",
            f"mode                  {'train' if self.train_mode else 'evaluation'}",
            f"outputs               {self.outputs}",
            f"inputs                {self.inputs} ({self.evidence})",
            f"bfloat16              {self.bfloat16}",
            "",
            f"one step on {STEP} images (0 backwards: it trains no weights, or its filter let no sample through)",
        ]
        for name, step in self.steps.items():
            passes = tell_number(step.forwards, "forward"), tell_number(step.backwards, "backward")
            cost = f"{', '.join(passes)}, {1000 * step.seconds:.0f} ms"
            lines.append(f"  {name:10s} {cost if step.forwards else ''}{'  ' if step.forwards else ''}{step.note}")
        lines += ["", *(f"! {problem}" for problem in self.problems)]
        return "\n".join(lines if self.problems else [*lines, "no problem found"])


def examine(model: nn.Module, images: Tensor | None = None, tried: str = "*") -> Report:
    """Look a model over with images [N, 3, H, W] from 0 to 1, by default bundled ones. The model is left as it is.

    `tried` names the methods whose step is measured, as comma-separated wildcards.
    """
    names = methods.match(tried)
    bfloat16 = probe_bfloat16()
    if bfloat16.end and any(value.dtype == torch.bfloat16 for value in (*model.parameters(), *model.buffers())):
        raise GottaError(f"the model has weights in bfloat16, which {bfloat16}. Use float32, or another processor.")
    half = next((str(p.dtype).removeprefix("torch.") for p in model.parameters() if p.dtype in HALF), "")
    model = deepcopy(model).float() if half else model
    train_mode = any(module.training for module in model.modules() if not isinstance(module, nn.ModuleList))
    layers = Counter(type(module).__name__ for module in model.modules() if isinstance(module, NORMALISATION))
    x, predict = _probes(model, images)
    inputs, evidence = _inputs(model, x, predict)
    outputs = kind_of_outputs(predict(x))
    steps = {name: _step(model, name, x[:STEP]) for name in names}
    return Report(dict(layers), train_mode, outputs, inputs, evidence, bfloat16, find_namesake(), steps, half)


def find_namesake() -> str:
    """The version of the other project called gotta, if it is installed; it and ours overwrite each other's files."""
    try:
        found = metadata("gotta")
    except PackageNotFoundError:
        return ""
    return "" if OURS in (found["Summary"] or "") else found["Version"]


def kind_of_outputs(outputs: Tensor) -> str:
    """Logits, unless the rows are probabilities or their logarithms."""
    ones = torch.ones(len(outputs), dtype=outputs.dtype, device=outputs.device)
    if (outputs >= 0).all() and torch.allclose(outputs.sum(1), ones, atol=1e-3):
        return "probabilities"
    if (outputs <= 1e-6).all() and torch.allclose(outputs.exp().sum(1), ones, atol=1e-3):
        return "log-probabilities"
    return "logits"


def _probes(model: nn.Module, images: Tensor | None) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Images the model takes, and its outputs as a function of images."""
    source = methods.build("source", model=deepcopy(model))
    device = next((p.device for p in model.parameters()), torch.device("cpu"))

    def predict(x: Tensor) -> Tensor:
        logits: Tensor = source.predict(x).logits
        return logits.float()

    tried = "the images given" if images is not None else f"bundled images of sides {', '.join(map(str, SIZES))}"
    for x in _make_inputs(model) if images is None else [images[:PROBES]]:
        try:
            outputs = predict(x.to(device))
        except (RuntimeError, GottaError, ValueError, TypeError, IndexError) as error:
            reason = str(error).splitlines()[0]
            continue
        fits = outputs.ndim == 2 and outputs.shape[1] > 1
        if fits and torch.isfinite(outputs).all():
            return x.to(device), predict
        reason = "NaN or infinite outputs" if fits else f"outputs of shape {list(outputs.shape)}"
    raise GottaError(f"the model cannot classify {tried}: {reason}. Expected [B, C] logits; pass images=[N, 3, H, W].")


def _make_inputs(model: nn.Module) -> list[Tensor]:
    pixels, _, _ = bundled()
    # Evenly over the sheet, because it is in the test set's order.
    x = torch_images(pixels[:: max(1, len(pixels) // PROBES)][:PROBES])
    known = getattr(getattr(model, "input", None), "size", None)
    sides = SIZES if known is None else (known,)
    return [x if side == x.shape[2] else F.interpolate(x[:STEP], (side, side), mode="bilinear") for side in sides]


def _inputs(model: nn.Module, x: Tensor, predict: Callable[[Tensor], Tensor]) -> tuple[str, str]:
    """Whether the images reach the network as in training, and by what that is judged."""
    if x.ndim != 4 or x.shape[1] != 3:
        return CANNOT_TELL, "not colour images"
    ways = {AS_EXPECTED: [x], NOT_AT_ALL: [], TWICE: []}
    for values in COMMON:
        mean, std = (torch.tensor(value, device=x.device, dtype=x.dtype).view(1, 3, 1, 1) for value in values)
        ways[NOT_AT_ALL].append((x - mean) / std)
        ways[TWICE].append(x * std + mean)
    first, _ = _into_batch_norm(model, x[:2])
    layer: Any = dict(model.named_modules())[first]
    if first and layer.running_mean is not None and bool((layer.running_mean != 0).any()):  # it was trained
        mismatch = {way: min(_mismatch(model, layer, fed) for fed in feeds) for way, feeds in ways.items()}
        best = min(mismatch, key=mismatch.__getitem__)
        told = f"mismatch at {first}: " + ", ".join(f"{way} {value:.2g}" for way, value in mismatch.items())
        if best != AS_EXPECTED and mismatch[best] > CLEARLY * mismatch[AS_EXPECTED]:
            return (AS_EXPECTED if mismatch[AS_EXPECTED] < 0.5 else CANNOT_TELL), told
        return best, told
    score = {way: max(_consistency(predict, fed) for fed in feeds) for way, feeds in ways.items()}
    best = max(score, key=score.__getitem__)
    told = "no trained BatchNorm; consistency: " + ", ".join(f"{way} {value:.2f}" for way, value in score.items())
    if score[best] < TRAINED or (best != AS_EXPECTED and score[best] < score[AS_EXPECTED] + CONSISTENT):
        return CANNOT_TELL, told
    return best, told


def _mismatch(model: nn.Module, layer: Any, x: Tensor) -> float:
    """How far the statistics that reach a layer are from those it keeps: per channel, in units of its deviation."""
    given = _into_batch_norm(model, x)[1].transpose(0, 1).flatten(1)
    variance = layer.running_var + layer.eps
    shift = (given.mean(1) - layer.running_mean).square() / variance
    scale = ((given.var(1) + layer.eps) / variance).log().square()
    return float((shift + scale).mean())


class _Heard(Exception):
    """Ends a forward pass of which the rest is not needed."""


def _into_batch_norm(model: nn.Module, x: Tensor) -> tuple[str, Tensor]:
    """The name of the first BatchNorm layer that data goes through, and what goes into it; "" if there is none."""
    copy, found = deepcopy(model).eval(), [("", x)]

    def hear(name: str, given: Tensor) -> None:
        found.append((name, given))
        raise _Heard

    for name, module in copy.named_modules():
        if isinstance(module, _BatchNorm):
            module.register_forward_pre_hook(lambda _, inputs, name=name: hear(name, inputs[0]))
    with torch.no_grad(), suppress(_Heard):
        copy(x)
    return found[-1]


def _consistency(predict: Callable[[Tensor], Tensor], x: Tensor) -> float:
    """How much more alike an image and its mirror image are predicted than two different images."""
    outputs = [predict(fed) for fed in (x, x.flip(-1))]
    probs, mirrored = (o if kind_of_outputs(o) == "probabilities" else o.softmax(1) for o in outputs)
    return float((probs * mirrored).sum(1).mean() - (probs.mean(0) * mirrored.mean(0)).sum())


def _step(model: nn.Module, name: str, x: Tensor) -> Step:
    """The cost of one step of a method, and why it does nothing where it does."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a method warns of is not about this model
            source = adapt(model, "source")
            adapted = adapt(model, name)
            if adapted.method.domain == 0:  # where nothing is trained: a step that trains is measured
                adapted = adapt(model, name, statistics="source")
            before = deepcopy(adapted.model.state_dict())
            adapted.step(x)  # the first step also sets things up, so the second is measured
            outcome = adapted.step(x)
            plain = source.step(x)
    except GottaError as error:
        return Step(str(error))
    except Exception as error:  # whatever a model of the caller's own raises
        return Step(f"fails on this model: {str(error).splitlines()[0]}")
    after = adapted.model.state_dict()
    moved = any(not torch.equal(value, after[key]) for key, value in before.items())
    alike = torch.equal(outcome.prediction.logits, plain.prediction.logits)
    waits = adapted.method.statistics.watches and has_batch_norm(adapted.model)  # for a change of domain
    idle = "" if moved or waits or not alike else "changes nothing here"
    note = "adapts nothing, by definition" if name == "source" else idle
    spent = outcome.cost.values()
    return Step(note, *(sum(tally[name] for tally in spent) for name in ("forwards", "backwards", "seconds")))
