"""The paper's Figure 1: what each memory holds after a two-class stream in which every image comes four times.

The model is frozen, so all memories see the same predictions: each image is predicted once and the stream is replayed
through the policies. Nothing adapts.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gotta.data import dataset
from gotta.errors import GottaError, unknown
from gotta.experiment.run.environment import environment
from gotta.experiment.spec.text import read
from gotta.experiment.sweep.store import plain
from gotta.files import write_atomically
from gotta.memory import Memory, policies
from gotta.metrics.measures import FloatArray, balance, coverage, mean, nearest_in_class
from gotta.metrics.plane import principal_plane
from gotta.models import load
from gotta.streams import Stream, StreamSpec
from gotta.types import IntArray, Prediction, torch_images

FAMILIES = ("fifo", "reservoir", "pbrs", "cstu", "hus", "rbm", "cds", "fps", "fpsd", "kcenter")  # uninformed to diverse
NOT_SHOWN = ("none", "composed")  # one holds no more than a batch, the other is not one policy
OUTPUTS = ("pair", "model")
EMBEDDINGS = ("probs", "pair", "features")
FILE = Path(__file__).with_suffix(".yaml")
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Setting:
    """Everything the figure depends on besides the policies.

    `outputs` says which logits give label and uncertainty. With `pair` the model chooses between the two classes of the
    experiment, so the memory has two classes and 16 rows for each; with `model` it chooses among all, and eight classes
    that never come would be kept 3.2 of the 32 rows each.

    `embedding` is what the policies compare rows by: `probs` is the whole softmax vector, as in the paper. The softmax
    over the `pair` is a single number, and there a cosine filter of 0.005 has room for only eight rows per class.
    """

    classes: tuple[int, int] = (0, 1)
    outputs: str = "pair"
    embedding: str = "probs"
    duplicates: int = 4
    order: str = "dirichlet"
    gamma: float = 0.1
    slots: int | None = None  # None: as many as the data set has classes
    capacity: int = 32
    batches: int = 128
    epsilon: float = 0.005  # rows of a class this near are near-duplicates
    per_class: int | None = None  # None: all images there are
    seed: int = 0
    data: str = "cifar10-mini"
    model: str = "resnet20"

    def __post_init__(self) -> None:
        if len(self.classes) != 2 or len(set(self.classes)) != 2:
            raise GottaError(f"classes={self.classes}: expected two different class numbers, such as (0, 1).")
        for name, known in (("outputs", OUTPUTS), ("embedding", EMBEDDINGS)):
            if getattr(self, name) not in known:
                raise unknown(name, getattr(self, name), known)

    def stream(self) -> StreamSpec:
        return StreamSpec(
            order=self.order,
            gamma=self.gamma,
            slots=self.slots,
            schedule="one",
            domains="clean",
            classes=self.classes,
            per_class=self.per_class,
            duplicates=self.duplicates,
            seed=self.seed,
        )


@dataclass(frozen=True)
class Seen:
    """The images of the stream, and what the frozen model says of each."""

    truth: IntArray  # [N], 0 or 1: the position in Setting.classes
    logits: torch.Tensor  # [N, C]
    features: FloatArray  # [N, D], in units of their own root mean square distance from their mean


@dataclass(frozen=True)
class Held:
    """What one memory holds at the end: for each row the image's position among the seen ones, and its stored label."""

    policy: str
    image: IntArray  # [rows]
    label: IntArray  # [rows]
    measures: dict[str, float | None]
    stats: dict[str, int]


@dataclass(frozen=True)
class TeaserResult:
    setting: Setting
    truth: IntArray  # [N]
    points: FloatArray  # [N, 2]: the two principal components of the features
    explained: tuple[float, float]  # the share of the variance on each of them
    held: tuple[Held, ...]
    facts: dict[str, Any]


@dataclass(frozen=True)
class Picture:
    """The words around the figure, and the settings it is drawn with."""

    title: str
    paper: str
    note: str
    setting: dict[str, Any]
    quick: dict[str, Any]  # what a first look replaces


def load_picture() -> Picture:
    return Picture(**read(FILE))


def run_teaser(
    out: Path,
    policies: Sequence[str] | None = None,
    quick: bool = False,
    seed: int = 0,
    progress: Progress = lambda done, total, policy: None,
    **changes: Any,
) -> TeaserResult:
    """Replay the stream through each policy and write `teaser.json` to `out`. `changes` are fields of `Setting`."""
    picture = load_picture()
    told = picture.setting | (picture.quick if quick else {}) | changes
    result = compute(Setting(**{**told, "classes": tuple(told["classes"]), "seed": seed}), policies, progress)
    write_atomically(Path(out) / "teaser.json", json.dumps(document(result), indent=1) + "\n")
    return result


def compute(
    setting: Setting,
    names: Sequence[str] | None = None,
    progress: Progress = lambda done, total, policy: None,
) -> TeaserResult:
    """The figure's content. `progress` hears (policies done, policies, name of the next)."""
    names = shown_policies() if names is None else list(names)
    stream = Stream(dataset(setting.data), setting.stream())
    index, position = np.unique(stream.index, return_inverse=True)
    seen = look(setting.data, setting.model, setting.classes, tuple(index.tolist()))
    prediction = view(seen, setting)
    held = []
    for done, name in enumerate(names):
        progress(done, len(names), name)
        memory = replay(name, prediction, position, setting)
        held.append(describe(name, memory, seen, prediction, setting))
    progress(len(names), len(names), "")
    points, explained = class_plane(seen.features, seen.truth)
    facts = {"stream": stream.hash, "samples": stream.num_samples, **model_facts(seen, setting)}
    return TeaserResult(setting, seen.truth, points, explained, tuple(held), facts)


def shown_policies() -> list[str]:
    """Every registered policy that has a panel, the paper's families first."""
    names = [name for name in policies.names() if name not in NOT_SHOWN]
    return [name for name in FAMILIES if name in names] + [name for name in names if name not in FAMILIES]


@lru_cache(maxsize=8)
def look(data: str, model: str, classes: tuple[int, int], index: tuple[int, ...]) -> Seen:
    """Predict each image once, undisturbed ("clean")."""
    source, network, rows = dataset(data), load(model), np.array(index)
    images = torch_images(source.images("clean", rows))
    with torch.no_grad():
        features = torch.cat([network.features(part) for part in images.chunk(1 + len(rows) // 100)])
        logits = network.classify(features)
    scaled = features.double().numpy()
    spread = np.sqrt(((scaled - scaled.mean(0)) ** 2).sum(1).mean())
    return Seen((source.labels[rows] == classes[1]).astype(np.int64), logits, scaled / spread)


def view(seen: Seen, setting: Setting) -> Prediction:
    """What the memories are told of each image: see `Setting`."""
    pair = seen.logits[:, list(setting.classes)]
    embedding = {
        "probs": seen.logits.softmax(1),
        "pair": pair.softmax(1),
        "features": torch.from_numpy(seen.features).float(),
    }[setting.embedding]
    return Prediction(pair if setting.outputs == "pair" else seen.logits, embedding, embed="features")


def replay(name: str, known: Prediction, position: IntArray, setting: Setting) -> Memory:
    """The memory after the whole stream, read once per batch, refreshed as often as its policy wants.

    The stored "samples" are positions of images, since nobody looks at pixels here.
    """
    memory = Memory(name, setting.capacity, known.logits.shape[1], setting.seed)
    for step, part in enumerate(even_cuts(len(position), setting.batches), 1):
        rows = torch.from_numpy(position[part])
        memory.observe(
            rows, label=known.label[rows], uncertainty=known.uncertainty[rows], embedding=known.embedding[rows]
        )
        memory.batch()
        if memory.refresh_every and step % memory.refresh_every == 0:
            memory.refresh(lambda image: Prediction(known.logits[image], known.embedding[image], "features"))
    return memory


def even_cuts(samples: int, batches: int) -> list[slice]:
    """Exactly so many batches, whose sizes differ by one at most.

    >>> [cut.stop - cut.start for cut in even_cuts(10, 4)]
    [2, 3, 2, 3]
    """
    if not 1 <= batches <= samples:
        raise GottaError(f"{samples} samples cannot be cut into {batches} batches. Use more images, or fewer batches.")
    borders = np.arange(batches + 1) * samples // batches
    return [slice(int(begin), int(end)) for begin, end in pairwise(borders)]


def describe(name: str, memory: Memory, seen: Seen, known: Prediction, setting: Setting) -> Held:
    """The rows and how diverse they are, in the features and in the embedding that the policy decided by."""
    rows = memory.peek()
    image, label = rows.x.numpy(), rows.label.numpy()
    truth = seen.truth if setting.outputs == "pair" else np.array(setting.classes)[seen.truth]
    measures: dict[str, float | None] = {"rows": len(image), "images": len(np.unique(image))}
    for space, points in (("features", seen.features), ("embedding", known.embedding.double().numpy())):
        neighbour = nearest_in_class(points[image], label)
        # Every image comes equally often, so a mean over images is a mean over the stream.
        measures[f"coverage_{space}"] = coverage(points, points[image])
        measures[f"nearest_{space}"] = mean(neighbour[np.isfinite(neighbour)])
        measures[f"near_duplicates_{space}"] = mean((neighbour <= setting.epsilon).astype(np.float64))
    measures["balance"] = balance(np.bincount(label, minlength=memory.num_classes))
    measures["purity"] = mean((label == truth[image]).astype(np.float64))
    measures["certain"] = mean(certain(seen.logits, setting.epsilon)[image])
    return Held(name, image, label, measures, memory.stats)


def class_plane(features: FloatArray, truth: IntArray) -> tuple[FloatArray, tuple[float, float]]:
    """The first two principal components [N, 2] and their shares of the variance. The second class is to the right."""
    points, (first, second) = principal_plane(features)
    if points[truth == 1, 0].mean() < points[truth == 0, 0].mean():
        points[:, 0] *= -1
    # The sign of a component is arbitrary and depends on the linear algebra library; this one does not.
    if points[np.abs(points[:, 1]).argmax(), 1] < 0:
        points[:, 1] *= -1
    return points, (float(first), float(second))


def model_facts(seen: Seen, setting: Setting) -> dict[str, Any]:
    """How good and how sure the model is on these images: a saturated softmax leaves little to tell rows apart by."""
    pair = seen.logits[:, list(setting.classes)].argmax(1).numpy()
    best = seen.logits.argmax(1).numpy()
    weights = hashlib.sha256(b"".join(v.numpy().tobytes() for v in load(setting.model).state_dict().values()))
    return {
        "images": len(seen.truth),
        "accuracy_pair": float((pair == seen.truth).mean()),
        "accuracy_model": float((best == np.array(setting.classes)[seen.truth]).mean()),
        "certain": mean(certain(seen.logits, setting.epsilon)),
        "weights": weights.hexdigest()[:12],
    }


def certain(logits: torch.Tensor, epsilon: float) -> FloatArray:
    """1.0 where the softmax vector is within epsilon of naming one class with certainty, 0.0 elsewhere; [N]."""
    probs = logits.double().softmax(1)
    corner = torch.nn.functional.one_hot(probs.argmax(1), probs.shape[1])
    near: FloatArray = ((probs - corner).norm(dim=1) <= epsilon).double().numpy()
    return near


def document(result: TeaserResult) -> dict[str, Any]:
    """The result as JSON holds it, with what is needed to make it again."""
    held = [asdict(memory) for memory in result.held]
    return plain(  # type: ignore[no-any-return]
        {
            "setting": asdict(result.setting),
            "facts": result.facts,
            "explained": result.explained,
            "truth": result.truth,
            "points": result.points.round(6),
            "held": held,
            "environment": environment(),
        }
    )
