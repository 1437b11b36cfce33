"""Does a run ever wait for its images? Reading against the forward pass, and the share of an evaluation spent waiting.

Reading alone is done without workers; the loop reads ahead as `gotta run` does. All in one run, so that the ratios are
of one machine at one time. Threads of torch: as OMP_NUM_THREADS says.

python benchmarks/data.py [--images 384] [--batch 16] [--corruption gaussian_noise] [--data-workers N]
"""

import argparse
import io
import tempfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from gotta.data import bundled, dataset
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.data.local.make_imagenet_c import make_imagenet_c
from gotta.models import Backbone, architectures, load
from gotta.models.backbone import Input
from gotta.streams import Stream, StreamSpec, read_ahead
from gotta.types import Step

LIMIT = 5.0  # percent


@dataclass(frozen=True)
class Case:
    what: str
    stream: Stream
    network: str
    model: Backbone


def photographs(count: int, size: int) -> Iterator[bytes]:
    """JPEG files of the weight of photographs: smooth noise, so that they compress as such."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        coarse = rng.integers(0, 256, (size // 8, size // 8, 3), dtype=np.uint8)
        smooth = np.asarray(Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC)).astype(int)
        noisy = np.clip(smooth + rng.normal(0, 12, smooth.shape), 0, 255).astype(np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(noisy).save(buffer, "JPEG", quality=85)
        yield buffer.getvalue()


def large_network(name: str) -> tuple[str, Backbone]:
    """The network by name, or the nearest thing to it that is there."""
    torch.manual_seed(0)
    if name in architectures.names():
        return name, architectures.build(name, num_classes=1000, input=Input(size=224)).eval()
    stand_in = architectures.build("resnet20", num_classes=1000, input=Input(size=224)).eval()
    return f"resnet20 at 224 px, 2.0 GMAC (no {name})", stand_in


def cases(folder: Path, images: int, batch: int, corruption: str) -> Iterator[Case]:
    pixels, labels, _ = bundled()
    make_cifar_c(pixels, labels, folder / "CIFAR-10-C", [corruption])
    small = StreamSpec(domains=f"{corruption}-5", schedule="one", batch_size=64, limit=max(images, 256))
    yield Case(
        "CIFAR-10-C, npy",
        Stream(dataset("cifar10_c", path=f"{folder}/CIFAR-10-C"), small),
        "resnet20",
        load("resnet20"),
    )

    source = folder / "photographs.zip"
    with zipfile.ZipFile(source, "w") as archive:
        for row, data in enumerate(photographs(images, 224)):
            archive.writestr(f"n{row % 10:08}/{row}.JPEG", data)
    make_imagenet_c(source, folder / "ImageNet-C", [corruption], [5])
    large = StreamSpec(domains=f"{corruption}-5", schedule="one", batch_size=batch)
    files = dataset("imagenet_c", path=f"{folder}/ImageNet-C", num_classes=1000)
    yield Case("ImageNet-C, JPEG", Stream(files, large), *large_network("resnet50"))
    frames = dataset("folder", path=str(source), num_classes=1000)
    yield Case("frames, corrupted on the fly", Stream(frames, large), *large_network("resnet18"))


def reading(stream: Stream) -> float:
    """Images per second without a model and without workers."""
    since = time.perf_counter()
    count = sum(len(step.x) for step in read_ahead(stream, workers=0))
    return count / (time.perf_counter() - since)


def forward(model: Backbone, step: Step, rounds: int = 2) -> float:
    """Images per second of the model alone."""
    with torch.no_grad():
        model(step.x)
        since = time.perf_counter()
        for _ in range(rounds):
            model(step.x)
    return rounds * len(step.x) / (time.perf_counter() - since)


def waited(stream: Stream, model: Backbone, workers: int | None) -> float:
    """The percentage of the time of a loop over all steps in which it waited for its next images."""
    waiting, since = 0.0, time.perf_counter()
    steps = read_ahead(stream, workers=workers)
    with torch.no_grad():
        while True:
            before = time.perf_counter()
            step = next(steps, None)
            waiting += time.perf_counter() - before
            if step is None:
                return 100 * waiting / (time.perf_counter() - since)
            model(step.x)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=384)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--corruption", default="gaussian_noise")
    parser.add_argument("--data-workers", type=int)
    given = parser.parse_args()
    print(f"{'data set':30}{'read/s':>8}{'forward/s':>11}{'times':>8}{'inline %':>10}{'waited %':>10}  network")
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases(Path(folder), given.images, given.batch, given.corruption):
            read, ran = reading(case.stream), forward(case.model, case.stream.step(0))
            inline = waited(case.stream, case.model, 0)
            ahead = waited(case.stream, case.model, given.data_workers)
            worst = max(worst, ahead)
            print(
                f"{case.what:30}{read:8.0f}{ran:11.1f}{read / ran:8.1f}{inline:10.2f}{ahead:10.2f}  {case.network}",
                flush=True,
            )
    print(f"\nAt most {worst:.2f} % of a loop was spent waiting for images (limit {LIMIT:.0f} %).")


if __name__ == "__main__":
    main()
