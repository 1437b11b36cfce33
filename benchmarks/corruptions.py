"""Microseconds of processor time per image of every corruption, beside what the published generator needs.

Processor time sums over threads, so more threads do not make the figures smaller.

python benchmarks/corruptions.py [--images 250] [--size 32] [--table cifar] [--severity 5]
"""

import argparse
import time

import numpy as np

from gotta.data.corruptions import EXTRA, STANDARD, corrupt

# Milliseconds of one core per 32 x 32 image at severity 5 of the generator published with CIFAR-10-C; where only a
# range of 0.1 to 0.4 is known, None.
PUBLISHED = dict.fromkeys(STANDARD + EXTRA) | {
    "glass_blur": 22.0,
    "zoom_blur": 5.6,
    "snow": 2.2,
    "motion_blur": 1.6,
    "brightness": 1.1,
    "elastic_transform": 0.8,
    "fog": 0.65,
}
PUBLISHED_SUM = 36.0


def natural_like(count: int, size: int) -> np.ndarray:
    """Images with the spectrum of photographs: amplitude falling as one over frequency."""
    rng = np.random.default_rng(0)
    frequency = np.hypot(np.fft.fftfreq(size)[:, None], np.fft.rfftfreq(size)[None, :])
    frequency[0, 0] = 1
    noise = np.fft.rfft2(rng.standard_normal((count, 3, size, size))) / frequency
    waves = np.fft.irfft2(noise, (size, size)).transpose(0, 2, 3, 1)
    waves = 125 + 60 * (waves - waves.mean((1, 2, 3), keepdims=True)) / waves.std((1, 2, 3), keepdims=True)
    return np.clip(waves, 0, 255).astype(np.uint8)


def best_time(images: np.ndarray, name: str, severity: int, table: str, rounds: int = 5) -> float:
    """Seconds of processor time per image, the best of some rounds after one to fill the caches."""
    corrupt(images, name, severity, table)
    times = []
    for _ in range(rounds):
        start = time.process_time()
        corrupt(images, name, severity, table)
        times.append(time.process_time() - start)
    return min(times) / len(images)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=250)
    parser.add_argument("--size", type=int, default=32)
    parser.add_argument("--table", default="cifar")
    parser.add_argument("--severity", type=int, default=5)
    given = parser.parse_args()
    images = natural_like(given.images, given.size)
    comparable = (given.size, given.table, given.severity) == (32, "cifar", 5)
    total = 0.0
    print(f"{'corruption':20}{'us/image':>10}{'published':>11}{'times':>8}")
    for name in STANDARD + EXTRA:
        seconds = best_time(images, name, given.severity, given.table)
        total += seconds if name in STANDARD else 0
        published = PUBLISHED[name] if comparable else None
        beside = f"{published * 1e3:11.0f}{published / seconds / 1e3:8.0f}" if published else ""
        print(f"{name:20}{seconds * 1e6:10.1f}{beside}")
    beside = f"{PUBLISHED_SUM * 1e3:11.0f}{PUBLISHED_SUM / total / 1e3:8.0f}" if comparable else ""
    print(f"{'the 15 standard':20}{total * 1e6:10.1f}{beside}")


if __name__ == "__main__":
    main()
