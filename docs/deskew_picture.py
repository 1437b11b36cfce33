"""Draws docs/pictures/deskew.svg, accuracy along a stream with three rules: `python docs/deskew_picture.py`."""

from itertools import groupby
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch

import gotta
import gotta.models
from gotta.data import dataset
from gotta.streams import Stream, StreamSpec

FIVE = ("gaussian_noise", "defocus_blur", "snow", "contrast", "pixelate")
WINDOW = 125  # samples behind a point of a line
LEFT, RIGHT, TOP, BOTTOM = 52.0, 748.0, 34.0, 198.0
CLASSES = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#bab0ac"]
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "running statistics, rate 0.1": (
        "#8a8f98",
        {"method": "norm", "statistics": "running", "fed_by": "batch", "rate": 0.1},
    ),
    "class statistics": ("#2f6fb3", {"method": "norm", "statistics": "class"}),
    "deskew: class statistics + prior": ("#c2571a", {"method": "deskew"}),
}


def hits(**settings: Any) -> tuple[np.ndarray, np.ndarray]:
    """Of each sample of the stream whether it was right, and its class."""
    stream = Stream(
        dataset("cifar10-mini"),
        StreamSpec.of(order="dirichlet", gamma=0.1, domains=FIVE, severity=5, batch_size=64, per_class=100, seed=101),
    )
    model = gotta.adapt(gotta.models.load("resnet20"), **settings)
    steps = [(model.step(step.x).prediction.label.numpy(), step.truth.label) for step in stream]
    predicted, true = (np.concatenate(part) for part in zip(*steps, strict=True))
    return predicted == true, true


def draw() -> str:
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 280" font-family="sans-serif" font-size="12">'
        '<title>Accuracy along a stream</title><rect width="100%" height="100%" fill="#fff"/>'
    ]
    for percent in range(0, 101, 25):
        y = height(percent / 100)
        parts.append(f'<path d="M{LEFT:g} {y}H{RIGHT:g}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{LEFT - 6:g}" y="{y + 4}" text-anchor="end" fill="#555">{percent} %</text>')
    for at, name in enumerate(FIVE):
        x = LEFT + at * (RIGHT - LEFT) / len(FIVE)
        parts.append(f'<text x="{x:.1f}" y="{BOTTOM + 30:g}" fill="#555">{name.replace("_", " ")}</text>')
        parts.append(f'<path d="M{x:.1f} {TOP:g}V{BOTTOM + 16:g}" stroke="#bbb" stroke-dasharray="3 3"/>' if at else "")
    found = {name: hits(**settings) for name, (_, settings) in RULES.items()}
    parts += runs(next(iter(found.values()))[1])
    parts.append(f'<text x="{LEFT:g}" y="{BOTTOM + 50:g}" fill="#555">colour: the true class of each sample</text>')
    for at, (name, (right, _)) in enumerate(found.items()):
        color = RULES[name][0]
        means = right.reshape(-1, WINDOW).mean(1)
        step = (RIGHT - LEFT) / len(means)
        points = "L".join(f"{LEFT + (k + 0.5) * step:.1f} {height(mean)}" for k, mean in enumerate(means))
        parts.append(f'<path fill="none" stroke="{color}" stroke-width="2" d="M{points}"/>')
        label = f"{name}: {right.mean():.0%}".replace("%", " %")
        parts.append(f'<text x="{LEFT + (0, 240, 410)[at]:g}" y="18" fill="{color}" font-weight="bold">{label}</text>')
    return "\n".join([*filter(None, parts), "</svg>", ""])


def height(share: float) -> float:
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def runs(classes: np.ndarray) -> list[str]:
    """A band below the lines: one piece for each run of a class."""
    pieces, at, unit = [], 0, (RIGHT - LEFT) / len(classes)
    for label, run in groupby(classes.tolist()):
        length = len(list(run))
        box = f'x="{LEFT + at * unit:.1f}" y="{BOTTOM + 6:g}" width="{length * unit:.2f}" height="10"'
        pieces.append(f'<rect {box} fill="{CLASSES[label]}"/>')
        at += length
    return pieces


if __name__ == "__main__":
    torch.set_num_threads(1)
    with catch_warnings():
        simplefilter("ignore")  # that the stickiness is high
        (Path(__file__).parent / "pictures/deskew.svg").write_text(draw())
