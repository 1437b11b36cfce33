"""Training source networks. What an epoch does depends on the settings alone, so a killed training goes on exactly."""

import inspect
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from safetensors.torch import save
from torch import Tensor
from torch.nn import functional as F

from gotta.errors import GottaError, messages, unknown
from gotta.files import check_writable, write_atomically
from gotta.freed_memory import keep_freed_memory
from gotta.models import Backbone, architectures
from gotta.models.own import drawing
from gotta.models.zoo import read, save_model
from gotta.seeds import generator
from gotta.types import Images, IntArray, torch_images

Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, lt=1)]


@dataclass(frozen=True)
class Settings:
    """Everything that decides the trained weights, besides the images."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    architecture: str = "resnet20"
    epochs: Count = 40
    batch_size: Count = 128
    optimizer: Literal["sgd", "adamw"] = "sgd"  # sgd: Nesterov, momentum 0.9
    lr: Annotated[float, Field(gt=0)] = 0.2
    weight_decay: Annotated[float, Field(ge=0)] = 5e-4
    warmup: Share = 0.15  # of all steps, in which the rate rises linearly; then it falls linearly to zero
    crop: Whole = 4  # padding of the random crop; 0 for none
    small_epochs: Whole = 0  # so many epochs first are trained on smaller crops: nearly half the cost
    small_size: Count = 24  # side of these crops
    flip: bool = True  # random left-right flips
    smoothing: Share = 0.0  # of the labels
    seed: Whole = 0

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Settings":
        """Settings from values, or from texts that stand for them; all mistakes in one error."""
        try:
            return TypeAdapter(cls).validate_python(given)
        except ValidationError as error:
            raise GottaError("; ".join(map(_describe, error.errors())) + ".") from None


def _describe(problem: Any) -> str:
    name = str(problem["loc"][0])
    if problem["type"] == "unexpected_keyword_argument":
        known = [field.name for field in fields(Settings) if field.name != "architecture"]
        return str(unknown("training setting", name, known)).rstrip(".")
    told = str(problem["msg"]).removeprefix("Input should be ").partition(", unable")[0].replace("'", "")
    return f"{name}={problem['input']}, expected {told}"


@dataclass(frozen=True)
class Progress:
    """What is reported while training."""

    epoch: int
    epochs: int
    step: int
    steps: int
    accuracy: float  # percent, on the augmented training images of this epoch so far
    seconds_left: float


def augment(images: Images, size: int, padding: int, flip: bool, rng: np.random.Generator) -> Images:
    """A random square crop of the reflected image and a random left-right flip, for each image its own."""
    count, side = images.shape[:2]
    images = np.pad(images, ((0, 0), (padding, padding), (padding, padding), (0, 0)), mode="reflect")
    corner = rng.integers(0, side + 2 * padding - size + 1, (2, count, 1))
    rows, columns = corner[0] + np.arange(size), corner[1] + np.arange(size)
    if flip:
        columns = np.where(rng.random((count, 1)) < 0.5, columns[:, ::-1], columns)
    cropped: Images = images[np.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return cropped


def learning_rate(settings: Settings, step: int, steps: int) -> float:
    """A linear rise, then a linear fall to zero."""
    rise = settings.warmup * steps
    return settings.lr * min((step + 1) / rise if rise else 1.0, (steps - step) / (steps - rise))


def build(settings: Settings, num_classes: int, side: int = 32) -> Backbone:
    """The untrained network, initialised from the seed without touching global randomness elsewhere."""
    expects = inspect.signature(architectures.get(settings.architecture)).parameters["input"].default
    with drawing(settings.seed, "init"):
        model = architectures.build(settings.architecture, num_classes=num_classes, input=replace(expects, size=side))
    assert isinstance(model, Backbone)
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def make_optimizer(model: Backbone, settings: Settings) -> torch.optim.Optimizer:
    """Weight decay acts on matrices and kernels only."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": settings.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    if settings.optimizer == "sgd":
        return torch.optim.SGD(groups, lr=settings.lr, momentum=0.9, nesterov=True)
    return torch.optim.AdamW(groups, lr=settings.lr)


def train(
    images: Images,
    labels: IntArray,
    settings: Settings,
    out: Path,
    test: tuple[Images, IntArray] | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    classes: Sequence[str] | None = None,
    source: Mapping[str, Any] | None = None,
) -> Backbone:
    """Train to `out`, with a checkpoint after each epoch beside it, which a later call with these settings continues.

    `test` is looked at once, after the last epoch, and only to be written into the record. `classes` names the labels
    and `source` says where the images are from, for the record too.
    """
    num_classes = len(classes) if classes is not None else int(labels.max(initial=0)) + 1
    _check(images, labels, num_classes, settings)
    if test is not None and test[0].shape[1:] != images.shape[1:]:
        expected = f"Expected {list(images.shape[1:])}, as in training"
        raise GottaError(f"test images are {list(test[0].shape[1:])}. {expected}.")
    check_writable(out)
    keep_freed_memory()
    model = build(settings, num_classes, images.shape[1])
    optimizer = make_optimizer(model, settings)
    checkpoint = checkpoint_path(out)
    begun: dict[str, Any] = {"settings": asdict(settings), "content": _fingerprint(images, labels), "history": []}
    history = begun["history"] = _resume(checkpoint, model, optimizer, begun)
    batches = len(images) // settings.batch_size
    steps = settings.epochs * batches
    started, first = time.monotonic(), len(history) * batches
    for epoch in range(len(history), settings.epochs):
        correct = 0
        for step, (x, y) in enumerate(_batches(images, labels, settings, epoch)):
            done = epoch * batches + step
            rate = learning_rate(settings, done, steps)
            correct += _update(model, optimizer, x, y, rate, settings.smoothing)
            accuracy = 100 * correct / ((step + 1) * settings.batch_size)
            seconds_left = (steps - done - 1) * (time.monotonic() - started) / (done + 1 - first)
            report(Progress(epoch + 1, settings.epochs, step + 1, batches, accuracy, seconds_left))
        if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
            raise GottaError(f"the weights became infinite in epoch {epoch + 1}. Use a smaller lr than {settings.lr}.")
        history.append({"epoch": epoch + 1, "train_accuracy": round(accuracy, 3)})
        _save_checkpoint(checkpoint, model, optimizer, begun)
    # What the last bits of the weights depend on besides settings and images.
    environment = {"torch": torch.__version__, "numpy": np.__version__, "threads": torch.get_num_threads()}
    record = {"settings": begun["settings"], "images": len(images), **begun, "environment": environment}
    record |= {} if classes is None else {"classes": list(classes)}
    record |= {} if source is None else {"source": dict(source)}
    if test is not None:
        record["test_accuracy"] = round(accuracy_on(model, *test), 3)
        record["test_images"] = len(test[1])
    save_model(model, settings.architecture, out, **record)
    checkpoint.unlink(missing_ok=True)
    return model.eval()


def checkpoint_path(out: Path) -> Path:
    """Where the state after the last finished epoch is kept until the training ends."""
    return out.with_suffix(".checkpoint")


def accuracy_on(model: Backbone, images: Images, labels: IntArray, batch_size: int = 250) -> float:
    """Accuracy in percent, in evaluation mode."""
    model.eval()
    correct = 0
    with torch.inference_mode():
        for start in range(0, len(images), batch_size):
            logits = model(torch_images(images[start : start + batch_size]))
            correct += int((logits.argmax(1).numpy() == labels[start : start + batch_size]).sum())
    return 100 * correct / len(images)


def _batches(images: Images, labels: IntArray, settings: Settings, epoch: int) -> Iterator[tuple[Tensor, Tensor]]:
    """The shuffled, augmented batches of one epoch, from a generator of that epoch's own."""
    rng = generator(settings.seed, f"train-epoch-{epoch}")
    order = rng.permutation(len(images))
    size = settings.small_size if epoch < settings.small_epochs else images.shape[1]
    for start in range(0, len(images) - settings.batch_size + 1, settings.batch_size):
        chosen = order[start : start + settings.batch_size]
        x = torch_images(augment(images[chosen], size, settings.crop, settings.flip, rng))
        yield x.contiguous(memory_format=torch.channels_last), torch.from_numpy(labels[chosen])


def _update(
    model: Backbone, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, rate: float, smoothing: float
) -> int:
    model.train()
    for group in optimizer.param_groups:
        group["lr"] = rate
    logits = model(x)
    optimizer.zero_grad()
    F.cross_entropy(logits, y, label_smoothing=smoothing).backward()  # type: ignore[no-untyped-call]
    optimizer.step()
    return int((logits.detach().argmax(1) == y).sum())


def _check(images: Images, labels: IntArray, num_classes: int, settings: Settings) -> None:
    """Every mistake in settings and images, in one message, before anything is done."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[1] != images.shape[2] or images.shape[3] != 3:
        raise GottaError(f"images are {images.dtype} {list(images.shape)}. Expected square uint8 [N, S, S, 3].")
    if labels.shape != (len(images),):
        raise GottaError(f"{len(images)} images and labels of shape {list(labels.shape)} do not belong together.")
    mistakes = [told.rstrip(".") for told in messages([lambda: Settings.of(asdict(settings))])]
    if settings.small_epochs > settings.epochs:
        mistakes.append(f"small_epochs={settings.small_epochs}, expected 0 to epochs")
    if len(labels) and not 0 <= labels.min() <= labels.max() < num_classes:
        mistakes.append(f"labels go from {labels.min()} to {labels.max()}, expected 0 to {num_classes - 1}")
    if len(images) < settings.batch_size:
        mistakes.append(f"{len(images)} images do not fill a batch of {settings.batch_size}, use a smaller batch_size")
    widest = images.shape[1] + 2 * settings.crop
    if settings.small_epochs and settings.small_size > widest:
        mistakes.append(f"small_size={settings.small_size}, expected at most side + 2 crop = {widest}")
    if mistakes:
        raise GottaError(f"cannot train {settings.architecture}: {'; '.join(mistakes)}.")


def _fingerprint(images: Images, labels: IntArray) -> str:
    """Names the training images, so that a checkpoint is never continued on others."""
    digest = blake2b(np.ascontiguousarray(images).data, digest_size=16)
    digest.update(np.ascontiguousarray(labels, np.int64).data)
    return digest.hexdigest()


def _save_checkpoint(path: Path, model: Backbone, optimizer: torch.optim.Optimizer, begun: dict[str, Any]) -> None:
    tensors = {f"model.{name}": value.contiguous() for name, value in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{name}|{key}"] = value.contiguous()
    write_atomically(path, save(tensors, {"gotta": json.dumps(begun)}))


def _resume(path: Path, model: Backbone, optimizer: torch.optim.Optimizer, begun: dict[str, Any]) -> list[Any]:
    """Load the checkpoint into model and optimizer, if there is one; the accuracy of the finished epochs."""
    if not path.exists():
        return []
    record, tensors = read(path)
    here, there = begun["settings"], record.get("settings", {})
    others = [f"{name}={there.get(name)}, now {value}" for name, value in here.items() if there.get(name) != value]
    if record.get("content", begun["content"]) != begun["content"]:
        others.append("other images")
    if others:
        raise GottaError(f"{path} is of another training: {'; '.join(others)}. Remove it, or choose another --out.")
    model.load_state_dict({name[6:]: value for name, value in tensors.items() if name.startswith("model.")})
    parameters = dict(model.named_parameters())
    for name, value in tensors.items():
        if name.startswith("optimizer."):
            parameter, key = name[len("optimizer.") :].split("|")
            like = parameters[parameter]
            optimizer.state[like][key] = torch.empty_like(like).copy_(value) if value.shape == like.shape else value
    return list(record["history"])
