"""`gotta train`: source networks."""

import os
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from gotta.errors import GottaError, unknown


def train(
    architecture: Annotated[str, typer.Argument(help="What to train (gotta ls architectures).")],
    data: Annotated[Path, typer.Option(help="CIFAR-10 (archive or folder), or a folder <class>/<image>.")],
    out: Annotated[Path, typer.Option(help="The .safetensors file to write.")],
    setting: Annotated[
        list[str] | None, typer.Option("--set", "-s", help="A training setting as name=value; repeat for more.")
    ] = None,
    size: Annotated[int, typer.Option(help="Side of the images of a folder.")] = 32,
    threads: Annotated[int, typer.Option(help="Torch threads.")] = 1,
) -> None:
    """Train a network. Every epoch is kept: after a kill the same command goes on, to the very same weights.

    The test set of CIFAR-10 is looked at once, after the last epoch, for the record in the file.

    Examples:

    - `gotta train resnet20 --data cifar-10-binary.tar.gz --out resnet20.safetensors`

    - `gotta train vit-mini --data photos --out mine.safetensors -s epochs=20 -s optimizer=adamw -s lr=1e-3`
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch
    import yaml

    from gotta.cli.progress import training
    from gotta.data import cifar10, image_folder
    from gotta.train import Settings
    from gotta.train import train as fit

    torch.set_num_threads(threads)
    if out.suffix != ".safetensors":
        raise GottaError(f"--out {out} has no place for a network. Expected a name that ends in .safetensors.")
    known = [field.name for field in fields(Settings)]
    chosen: dict[str, Any] = {}
    for text in setting or []:
        name, _, value = text.partition("=")
        if name not in known:
            raise unknown("training setting", name, known)
        chosen[name] = yaml.safe_load(value)
    settings = Settings(architecture=architecture, **chosen)
    test = None
    if data.is_dir() and not any(data.rglob("test_batch.*")):
        images, labels, _ = image_folder(data, size)
    else:
        (images, labels), test = cifar10(data, "train"), cifar10(data, "test")
    with training() as report:
        fit(images, labels, settings, out, test, report)
    print(f"Written: {out}")
