"""Draws docs/pictures/deskew.svg, accuracy along a stream with three rules: `python docs/deskew_picture.py`."""

from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch
from generate.pictures import stripes

import gotta
import gotta.models
from gotta.data import dataset
from gotta.report.figures.drawing import FAINT, GRID, Drawing, Line, Text
from gotta.report.figures.svg import svg
from gotta.streams import Stream, StreamSpec

FIVE = ("gaussian_noise", "defocus_blur", "snow", "contrast", "pixelate")
WINDOW = 125  # samples behind a point of a line
LEFT, RIGHT, TOP, BOTTOM = 52.0, 748.0, 34.0, 198.0
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
    drawing = Drawing(760, 280, "Accuracy along a stream")
    for percent in range(0, 101, 25):
        y = height(percent / 100)
        drawing.add(Line(((LEFT, y), (RIGHT, y)), GRID), Text(LEFT - 6, y + 4, f"{percent} %", FAINT, 12, "end"))
    for at, name in enumerate(FIVE):
        x = LEFT + at * (RIGHT - LEFT) / len(FIVE)
        drawing.add(Text(x, BOTTOM + 30, name.replace("_", " "), FAINT))
        drawing.add(*([Line(((x, TOP), (x, BOTTOM + 16)), FAINT, dash=(3, 3))] if at else []))
    found = {name: hits(**settings) for name, (_, settings) in RULES.items()}
    classes = next(iter(found.values()))[1]
    drawing.add(*stripes(classes, LEFT, (RIGHT - LEFT) / len(classes), BOTTOM + 6, 10))
    drawing.add(Text(LEFT, BOTTOM + 50, "colour: the true class of each sample", FAINT))
    for at, (name, (right, _)) in enumerate(found.items()):
        colour = RULES[name][0]
        means = right.reshape(-1, WINDOW).mean(1)
        step = (RIGHT - LEFT) / len(means)
        points = tuple((LEFT + (k + 0.5) * step, height(mean)) for k, mean in enumerate(means))
        label = f"{name}: {right.mean():.0%}".replace("%", " %")
        drawing.add(Line(points, colour, 2), Text(LEFT + (0, 240, 410)[at], 18, label, colour, bold=True))
    return svg(drawing) + "\n"


def height(share: float) -> float:
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    with catch_warnings():
        simplefilter("ignore")  # that the stickiness is high
        (Path(__file__).parent / "pictures/deskew.svg").write_text(draw())
