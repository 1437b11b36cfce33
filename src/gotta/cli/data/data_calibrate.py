"""`gotta data calibrate`: what a network gets right under two corruptions at once, for CCC streams of your own."""

import json
from pathlib import Path
from typing import Annotated

import typer


def calibrate(
    out: Annotated[Path, typer.Option(help="The file to write, for the argument `calibration` of data set ccc.")],
    model: Annotated[str, typer.Option(help="A network (gotta ls models).")] = "resnet20",
    weights: Annotated[str | None, typer.Option(help="Its checkpoint, if it is not bundled.")] = None,
    data: Annotated[str, typer.Option(help="A data set with clean images (gotta ls datasets).")] = "cifar10-mini",
    corruption: Annotated[str, typer.Option(help="Only these, by comma. Default: six of all families.")] = "",
    per_class: Annotated[int, typer.Option(min=1, help="Images of each class to measure with.")] = 10,
    table: Annotated[str, typer.Option(help="Severities of cifar or of imagenet.")] = "cifar",
) -> None:
    """Measure the accuracy of a network under each pair of corruptions, which CCC streams are made from.

    Examples:

    - `gotta data calibrate --corruption gaussian_noise,contrast --per-class 2 --out ccc.json`
    """
    from gotta.calibrate import USUAL, choose_images, measure_pairs
    from gotta.cli.progress import counted
    from gotta.data import dataset
    from gotta.data.dataset import CLEAN
    from gotta.files import write_atomically
    from gotta.models import load

    found = dataset(data)
    network = load(model, weights, found.num_classes)
    rows = choose_images(found.labels, per_class)
    chosen = tuple(part for part in corruption.split(",") if part) or USUAL
    with counted("pairs measured") as progress:
        measured = measure_pairs(
            network, found.images(CLEAN, rows), found.labels[rows], rows, chosen, table=table, report=progress
        )
    write_atomically(out, json.dumps({"model": model, "data": data, **measured}) + "\n")
    print(f"Written: {out}")
