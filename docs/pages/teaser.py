"""The paper's Figure 1: what each memory holds of a two-class stream in which every image comes four times.

The model is frozen: the stream is recorded once, in the journal of a memory, and replayed through every policy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gotta.data import dataset
from gotta.data.readers.cifar import CLASSES
from gotta.memory import Memory, policies
from gotta.memory.journal import Journal
from gotta.memory.replay import replay
from gotta.metrics.measures import balance, coverage, mean, nearest_in_class
from gotta.models import load
from gotta.report.figures.svg import svg
from gotta.report.memory_picture import draw_held
from gotta.streams import Stream, StreamSpec
from gotta.types import Floats, IntArray, Prediction, torch_images
from pages.parts import fill, grid

POLICIES = ("fifo", "cbfifo", "reservoir", "pbrs", "cstu", "hus", "rbm", "cds", "fps", "kcenter")
EPSILON, CAPACITY, BATCHES = 0.005, 32, 128
PAIRS = ((0, 1), (2, 3), (4, 5), (6, 7), (8, 9))  # every class once, so that none was picked
SEEDS = range(5)
COLUMNS = {  # measure: factor, decimals
    **{"rows": (1, 1), "images": (1, 1), "coverage": (1, 3), "nearest": (1, 3), "near-dup %": (100, 1)},
    **{"coverage z": (1, 3), "nearest z": (1, 3), "near-dup z %": (100, 1)},
    **{"balance": (1, 2), "purity %": (100, 1), "certain %": (100, 1)},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "as drawn": {},
    "2 Dirichlet slots": {"slots": 2},
    "shuffled stream": {"order": "iid"},
    "embedding: softmax over the pair": {"embedding": "pair"},
    "embedding: features": {"embedding": "features"},
    "labels among all ten classes": {"outputs": "model"},
}
SHOWN = ("fifo", "reservoir", "pbrs", "cstu", "cds", "fps")


@dataclass(frozen=True)
class Recording:
    """A stream as a frozen model saw it: `truth` is 0 or 1, `features` in units of their own spread."""

    journal: Journal
    index: IntArray
    truth: IntArray
    features: Floats
    sure: Floats
    classes: tuple[int, int]
    outputs: str
    seed: int


def make(root: Path) -> dict[Path, str]:
    first = record()
    held = {name: rows(first, name)[0] for name in POLICIES}
    names = [CLASSES[k] for k in first.classes]
    picture = svg(draw_held(first.features, first.truth, {name.upper(): found for name, found in held.items()}, names))
    streams = [(pair, seed) for pair in PAIRS for seed in SEEDS]
    usual = [record(pair, seed) for pair, seed in streams]
    cells = {name: [_spread([measure(one, name) for one in usual], column) for column in COLUMNS] for name in POLICIES}
    variants = {}
    for variant, changes in VARIANTS.items():
        found = usual if not changes else [record(pair, seed, **changes) for pair, seed in streams]
        numbers = {name: [measure(one, name) for one in found] for name in SHOWN}
        variants[variant] = [f"{100 * np.mean([m['near-dup %'] for m in numbers[name]]):.1f}" for name in SHOWN]
        variants[variant] += [f"{np.mean([m['rows'] for m in numbers[name]]):.1f}" for name in ("cds", "fps")]
        variants[variant] += [
            f"{np.mean([m['coverage'] for m in numbers[name]]):.3f}" for name in ("pbrs", "cds", "fps")
        ]
    heads = [*SHOWN, "rows cds", "rows fps", "coverage pbrs", "coverage cds", "coverage fps"]
    block = "\n\n".join(
        [
            "![what each memory holds](teaser.svg)",
            f"### Mean over {len(PAIRS)} pairs of classes and {len(SEEDS)} seeds, and half the range",
            grid("memory", list(COLUMNS), cells),
            "### Near-duplicates among the features (%), rows and coverage under other settings",
            grid("setting", heads, variants),
        ]
    )
    return {
        **fill(root / "docs/results/teaser.md", {"numbers": block}),
        root / "docs/results/teaser.svg": picture + "\n",
    }


def record(
    classes: tuple[int, int] = (0, 1), seed: int = 0, outputs: str = "pair", embedding: str = "probs", **stream: Any
) -> Recording:
    """The stream through the frozen network, each image looked at once, as a memory is told of it."""
    usual = {"order": "dirichlet", "gamma": 0.1, **stream}
    spec = StreamSpec(**usual, schedule="one", domains="clean", classes=classes, duplicates=4, seed=seed)
    index = Stream(dataset("cifar10-mini"), spec).index
    features, logits = look()
    here, scaled = logits[torch.from_numpy(index.copy())], features[index]
    scaled = scaled / np.sqrt(((scaled - scaled.mean(0)) ** 2).sum(1).mean())
    pair = here[:, list(classes)]
    spaces = {"probs": here.softmax(1), "pair": pair.softmax(1), "features": torch.from_numpy(scaled).float()}
    told = Prediction(pair if outputs == "pair" else here, spaces[embedding], embed="features")
    memory = Memory("fifo", CAPACITY, told.logits.shape[1], seed, journal=True)
    borders = np.arange(BATCHES + 1) * len(index) // BATCHES
    for begin, end in pairwise(borders.tolist()):
        at = torch.arange(begin, end)
        memory.observe(at, told.label[at], told.uncertainty[at], told.embedding[at])
        memory.batch()
    assert memory.journal is not None
    memory.journal.frozen = True
    probs = here.double().softmax(1)
    corner = torch.nn.functional.one_hot(probs.argmax(1), probs.shape[1])
    sure = ((probs - corner).norm(dim=1) <= EPSILON).double().numpy()
    truth = (dataset("cifar10-mini").labels[index] == classes[1]).astype(np.int64)
    return Recording(memory.journal, index, truth, scaled, sure, classes, outputs, seed)


@cache
def look() -> tuple[Floats, torch.Tensor]:
    """Features and logits of all images, undisturbed."""
    images = torch_images(dataset("cifar10-mini").images("clean", np.arange(len(dataset("cifar10-mini").labels))))
    network = load("resnet20")
    with torch.no_grad():
        features = torch.cat([network.features(part) for part in images.chunk(20)])
        return features.double().numpy(), network.classify(features)


def rows(one: Recording, policy: str) -> tuple[list[int], IntArray]:
    """The positions in the stream that a memory holds at the end, and the labels it holds them under."""
    assert policy in policies.names()
    held = replay(one.journal, policy, seed=one.seed).memory.peek()
    return held.x.tolist(), held.label.numpy()


def measure(one: Recording, policy: str) -> dict[str, float]:
    held, label = rows(one, policy)
    once = np.unique(one.index, return_index=True)[1]
    truth = one.truth if one.outputs == "pair" else np.array(one.classes)[one.truth]
    found: dict[str, float] = {"rows": len(held), "images": len(np.unique(one.index[held]))}
    for sign, points in (("", one.features), (" z", one.journal.column("embedding").astype(np.float64))):
        neighbour = nearest_in_class(points[held], label)
        found[f"coverage{sign}"] = coverage(points[once], points[held]) or 0.0  # every image comes equally often
        found[f"nearest{sign}"] = mean(neighbour[np.isfinite(neighbour)]) or 0.0
        found[f"near-dup{sign} %"] = mean((neighbour <= EPSILON).astype(np.float64)) or 0.0
    found["balance"] = balance(np.bincount(label, minlength=one.journal.num_classes)) or 0.0
    found["purity %"] = float((label == truth[held]).mean())
    found["certain %"] = float(one.sure[held].mean())
    return found


def _spread(found: Sequence[dict[str, float]], column: str) -> str:
    factor, decimals = COLUMNS[column]
    values = [factor * one[column] for one in found]
    return f"{np.mean(values):.{decimals}f} ± {(max(values) - min(values)) / 2:.{decimals}f}"
