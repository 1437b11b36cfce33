"""`gotta train`: source networks."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.train import Settings
    from gotta.types import Images, IntArray

    # Training images, labels, class names; test images and labels; what a record says about where they are from.
    Read = tuple[Images, IntArray, list[str], tuple[Images, IntArray] | None, dict[str, Any] | None]

INTERRUPTED = 130


def train(
    architecture: str,
    data: Path,
    out: Path,
    setting: Annotated[list[str] | None, typer.Option("--set", "-s", metavar="NAME=VALUE")] = None,
    test: Path | None = None,
    size: int = 32,
    every: Annotated[int, typer.Option(min=1)] = 1,
    threads: Annotated[int, typer.Option(min=1)] = 1,
) -> None:
    """Train a network. Every epoch is kept: after a kill the same command goes on, to the very same weights.

    Test images are looked at once, after the last epoch, for the record in the file.

    Settings and their defaults:

    - `epochs=40`, `batch_size=128`, `seed=0`

    - `optimizer=sgd` (Nesterov, momentum 0.9) or `adamw`; `lr=0.2`, `weight_decay=0.0005`

    - `warmup=0.15`: share of all steps in which the learning rate rises; then it falls to zero

    - `crop=4`: padding of random crops; `flip=true`: random left-right flips; `smoothing=0.0`: of labels

    - `small_epochs=0`, `small_size=24`: so many epochs first, on crops of this side, for about half the time

    Examples:

    - `gotta train resnet20 --data cifar-10-binary.tar.gz --out resnet20.safetensors`

    - `gotta train vit-mini --data photos --out mine.safetensors -s epochs=20 -s optimizer=adamw -s lr=1e-3`

    - `gotta train resnet18-small --data gtsrb_tracks.zip --every 3 --out signs.safetensors -s flip=false` : a fourth of
      each class's tracks is held out, and tested on

    Arguments:
        architecture: What to train (gotta ls architectures).

    Options:
        data: CIFAR-10 (archive or folder), a folder of `<class>/<image>`, or tracks: a zip file of sheets or a
            folder of `<class>/<track>/<frame>`.
        out: The .safetensors file to write.
        setting: A setting of those above; repeat for more.
        test: Test images, if --data is a folder: `<class>/<image>`.
        size: Side to which the images of a folder are fitted.
        every: Of video tracks, train on every so many-th frame.
        threads: Torch threads. Another number may round differently.
    """
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import torch

    from gotta.cli.progress import training
    from gotta.models import architectures
    from gotta.train import checkpoint_path
    from gotta.train import train as fit

    torch.set_num_threads(threads)
    if out.suffix != ".safetensors":
        raise GottaError(f"--out {out} has no place for a network. Expected a name that ends in .safetensors.")
    architectures.take(architecture)
    settings = parse_settings(architecture, setting or [])
    if out.exists():
        _say_finished(out, settings)
        return
    checkpoint = checkpoint_path(out)
    print(f"Reading {data}", flush=True)
    images, labels, classes, tested, source = _read(data, test, size, every)
    print(f"{len(images):,} images of {len(classes)} classes", flush=True)
    if checkpoint.exists():
        print(f"Continuing {checkpoint}", flush=True)
    try:
        with training() as report:
            fit(images, labels, settings, out, tested, report, classes, source)
    except KeyboardInterrupt:
        kept = f"its finished epochs are in {checkpoint}, and " if checkpoint.exists() else ""
        print(f"\nInterrupted: {kept}the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None
    print(f"Written: {out}{_accuracy(out)}")


def parse_settings(architecture: str, texts: Sequence[str]) -> "Settings":
    """Settings from `name=value` texts, each read as its setting's type; all mistakes in one error."""
    from gotta.train import Settings

    for text in texts:
        if "=" not in text or text.startswith("architecture="):
            raise GottaError(f"'{text}' is not a setting. Expected name=value, such as epochs=20.")
    return Settings.of({"architecture": architecture, **dict(text.split("=", 1) for text in texts)})


def _read(data: Path, test: Path | None, size: int, every: int) -> "Read":
    from gotta.data import cifar10, image_folder
    from gotta.data.readers.cifar import CLASSES, is_cifar10
    from gotta.data.readers.gtsrb import is_sheets
    from gotta.data.readers.tracks import is_tracks

    if not data.exists():
        raise GottaError(f"nothing at --data {data}. Expected CIFAR-10 (archive or folder), or a folder of images.")
    holds_tracks, cifar = is_sheets(data) or is_tracks(data), is_cifar10(data)
    if test is not None and (holds_tracks or cifar):
        instead = "every fourth track is held out to test on" if holds_tracks else "CIFAR-10 has its own test images"
        raise GottaError(f"--test {test} is not used: {instead}. Leave it out.")
    if holds_tracks:
        return _read_tracks(data, size, every)
    if every > 1:
        raise GottaError(f"--every {every} thins the frames of video tracks, and {data} holds none. Leave it out.")
    if cifar:
        return *cifar10(data, "train"), list(CLASSES), cifar10(data, "test"), None
    images, labels, classes = image_folder(data, size)
    if test is None:
        return images, labels, classes, None, None
    test_images, test_labels, test_classes = image_folder(test, size)
    if test_classes != classes:
        odd = ", ".join(sorted(set(test_classes) ^ set(classes)))
        raise GottaError(f"{test} and {data} differ in their classes: {odd}. Expected the same folders in both.")
    return images, labels, classes, (test_images, test_labels), None


def _read_tracks(data: Path, size: int, every: int) -> "Read":
    import numpy as np

    from gotta.data.readers import clips
    from gotta.data.readers.gtsrb import is_sheets, read_sheets
    from gotta.data.readers.tracks import read_tracks

    tracks = read_sheets(data) if is_sheets(data) else read_tracks(data, size)
    seen, held = clips.every(clips.split(tracks, "train"), every), clips.split(tracks, "held_out")
    pixels = [part.frames(np.arange(len(part))) for part in (seen, held)]
    source = {"file": data.name, "held_out_of": clips.HELD_OUT_OF, "every": every}
    return pixels[0], seen.labels, list(seen.classes), (pixels[1], held.labels), source


def _say_finished(out: Path, settings: "Settings") -> None:
    """A finished training is not repeated, and another network is not overwritten."""
    from dataclasses import asdict

    from gotta.models import record

    if record(out).get("training", {}).get("settings") != asdict(settings):
        raise GottaError(f"{out} exists, and was not trained with these settings. Remove it, or choose another --out.")
    print(f"Trained already: {out}{_accuracy(out)}")


def _accuracy(out: Path) -> str:
    from gotta.models import record

    training = record(out)["training"]
    if "test_accuracy" not in training:
        return ""
    return f", {training['test_accuracy']:.2f} % of {training['test_images']:,} test images right"
