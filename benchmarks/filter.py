"""What gotta.Filter costs per sample, in microseconds and as a ratio to the softmax that made its probabilities.

    python benchmarks/filter.py [--classes 10,100,1000] [--out FILE]

One thread, time of this process on the processor. 100,000 keys are held (1,000 of 1,000 classes); a call has a frame of
30 tracks, 64 samples of one key in a row, or one sample. Limit: 20 us per sample with 10 classes.
benchmarks/filter.jsonl is what docs/filter.md shows.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import gotta

LIMIT = 20.0
KEYS = 100_000


def softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def per_sample(call: Callable[[int], object], size: int, calls: int) -> float:
    """Microseconds, the best of three."""
    best = float("inf")
    for _ in range(3):
        start = process_time()
        for turn in range(calls):
            call(turn)
        best = min(best, (process_time() - start) / calls / size * 1e6)
    return best


def measure(classes: int) -> dict[str, Any]:
    """Microseconds for each sample, by what a call holds, and the bytes of a key."""
    held = KEYS if classes <= 100 else KEYS // 100
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, classes))
    probs, found = softmax(logits), gotta.Filter(classes, keys=held)
    for start in range(0, held, 1000):
        found(probs, key=np.arange(start, start + 1000))
    frames = [rng.choice(held, 30, replace=False) for _ in range(200)]
    cases: dict[str, tuple[int, int, Callable[[int], object]]] = {
        "30 tracks": (30, 200, lambda turn: found(probs[turn : turn + 30], key=frames[turn])),
        "64 of one": (64, 50, lambda turn: found(probs[turn : turn + 64], key=turn)),
        "one sample": (1, 1000, lambda turn: found(probs[turn], key=turn % 50)),
    }
    costs = {}
    for name, (size, calls, call) in cases.items():
        cost = per_sample(call, size, calls)
        plain = per_sample(lambda turn, size=size: softmax(logits[turn : turn + size]), size, calls)  # type: ignore[misc]
        limit = f" (at most {LIMIT:.0f})" if classes == 10 else ""
        ratio = f"softmax {plain:6.2f} us  {cost / plain:5.1f}x"
        print(f"{classes:5} classes  {name:10} {cost:6.1f} us{limit}  {ratio}, {held:,} keys", flush=True)
        costs[name] = cost
    return {"classes": classes, "keys": held, "bytes": found._fresh.nbytes, **costs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", default="10,100,1000")
    parser.add_argument("--out", type=Path, help="a file for the lines")
    options = parser.parse_args()
    lines = [json.dumps(measure(classes)) for classes in map(int, options.classes.split(","))]
    if options.out is not None:
        options.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
