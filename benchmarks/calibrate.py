"""How accurate a network is under two corruptions at once, for each pair of them: CCC streams are made from that.

    python benchmarks/calibrate.py --out mine.json [--model resnet20] [--data cifar10-mini] [--per-class 10]

The data set `ccc` reads the file: `calibration=mine.json`. Its usual one was made so.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.data.corruptions.between import check_severity
from gotta.data.dataset import CLEAN
from gotta.errors import GottaError
from gotta.models import Backbone, load
from gotta.types import Images, IntArray, torch_images

USUAL = ("gaussian_noise", "impulse_noise", "defocus_blur", "zoom_blur", "frost", "contrast")
SEVERITIES = (0.0, 2.0, 4.0, 5.0)


def choose_images(labels: IntArray, per_class: int) -> IntArray:
    """The first rows of each class."""
    rows = [np.flatnonzero(labels == label)[:per_class] for label in np.unique(labels)]
    return np.sort(np.concatenate(rows))


def measure_pairs(
    model: Backbone,
    images: Images,
    labels: IntArray,
    rows: IntArray,
    corruptions: Sequence[str] = USUAL,
    severities: Sequence[float] = SEVERITIES,
    table: str = "cifar",
    seed: int = 0,
) -> dict[str, Any]:
    """For each ordered pair the accuracy in percent at each severity of the first (down) and of the second (across)."""
    levels = [check_severity(severity) / 4 for severity in severities]
    if levels != sorted(set(levels)) or len(levels) < 2 or levels[0] != 0:
        raise GottaError(f"severities must rise from 0, such as 0, 2, 4, 5 (got {list(severities)}).")
    if len(set(corruptions)) < 2:
        raise GottaError(f"pairs need two corruptions or more (got {', '.join(corruptions) or 'none'}).")
    alone = {
        (name, level): corrupt(images, name, level, table, seed, rows)
        for name, level in product(dict.fromkeys(corruptions), levels)
    }
    single = {key: _accuracy(model, made, labels) for key, made in alone.items()}
    found = {}
    for first, second in permutations(dict.fromkeys(corruptions), 2):
        grid = np.empty((len(levels), len(levels)))
        for (i, one), (j, other) in product(enumerate(levels), enumerate(levels)):
            if i and j:
                both = corrupt(alone[first, one], second, other, table, seed, rows)
                grid[i, j] = _accuracy(model, both, labels)
            else:
                grid[i, j] = single[first, one] if i else single[second, other]
        found[f"{first}+{second}"] = grid.round(2).tolist()
    return {"images": len(rows), "table": table, "seed": seed, "severities": levels, "accuracy": found}


@torch.inference_mode()
def _accuracy(model: Backbone, images: Images, labels: IntArray) -> float:
    device = next(model.parameters()).device
    right = [
        (model(torch_images(part).to(device)).argmax(1).cpu().numpy() == truth).sum()
        for part, truth in _batches(images, labels)
    ]
    return 100 * float(sum(right)) / len(labels)


def _batches(images: Images, labels: IntArray, size: int = 200) -> Iterator[tuple[Images, NDArray[np.int64]]]:
    for start in range(0, len(labels), size):
        yield images[start : start + size], labels[start : start + size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--weights", help="its checkpoint, if it is not bundled")
    parser.add_argument("--data", default="cifar10-mini", help="a data set with clean images")
    parser.add_argument("--corruption", default=",".join(USUAL), help="these, by comma")
    parser.add_argument("--per-class", type=int, default=10, help="images of each class to measure with")
    parser.add_argument("--table", default="cifar", help="severities of cifar or of imagenet")
    given = parser.parse_args()
    found = dataset(given.data)
    network = load(given.model, given.weights, found.num_classes)
    rows = choose_images(found.labels, given.per_class)
    images, chosen = found.images(CLEAN, rows), tuple(given.corruption.split(","))
    measured = measure_pairs(network, images, found.labels[rows], rows, chosen, table=given.table)
    given.out.write_text(json.dumps({"model": given.model, "data": given.data, **measured}) + "\n")


if __name__ == "__main__":
    main()
