"""What `observe` costs, per policy and setting, beside a forward pass of the bundled resnet20 over a batch of 64.

    python benchmarks/memory.py [--policies fps,cds] [--settings 10x64,10x1024] [--out memory.json]

One process, one thread. Each memory is filled and then some more, so that the times are those of a long stream; the
figure is the median over batches. The forward pass is timed before and after each setting, in the same process.
"""

import argparse
import json
import platform
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

import gotta.models
from gotta.memory import Memory

BATCH = 64
PAPER = "none,fifo,reservoir,pbrs,cstu,cds,fps,fpsd"
LIMITS = {(10, 64): 0.02, (10, 32): 0.02, (1000, 64): 0.04, (10, 1024): 0.04, (10, 65536): 0.15}
Batch = dict[str, torch.Tensor]


def stream(rng: np.random.Generator, num_classes: int, shape: tuple[int, ...]) -> Iterator[Batch]:
    """Endless predictions in runs of one class, as a temporally correlated stream gives them."""
    while True:
        target = np.repeat(rng.integers(num_classes, size=BATCH), rng.geometric(0.1, size=BATCH))[:BATCH]
        logits = rng.normal(size=(BATCH, num_classes))
        logits[np.arange(BATCH), target] += rng.uniform(0, 8 + np.log(num_classes), BATCH)
        probs = torch.from_numpy(logits).softmax(1)
        uncertainty = -(probs * (probs + 1e-6).log()).sum(1)
        x = torch.from_numpy(rng.random((BATCH, *shape), dtype=np.float32))
        yield {"x": x, "label": probs.argmax(1), "uncertainty": uncertainty, "embedding": probs.float()}


def seconds_per_sample(memory: Memory, batches: Iterator[Batch], fill: int, timed: int) -> float:
    for _ in range(fill):
        memory.observe(**next(batches))
    times = []
    for _ in range(timed):
        batch = next(batches)
        start = time.perf_counter()
        memory.observe(**batch)
        times.append(time.perf_counter() - start)
    return statistics.median(times) / BATCH


def forward_seconds(model: torch.nn.Module, times: int = 5) -> float:
    """Per image, in a batch of 64."""
    x = torch.rand(BATCH, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    found = []
    with torch.inference_mode():
        for _ in range(times):
            start = time.perf_counter()
            model(x)
            found.append(time.perf_counter() - start)
    return statistics.median(found) / BATCH


def measure(policy: str, num_classes: int, capacity: int, timed: int) -> float:
    shape = (4,) if capacity > 10_000 else (3, 32, 32)  # small samples where pixels would fill the machine
    batches = stream(np.random.default_rng(0), num_classes, shape)
    memory = Memory(policy, capacity, num_classes)
    # Until full and half as much again; a quota leaves some room, so a count of samples decides, not the size.
    return seconds_per_sample(memory, batches, fill=max(10, 3 * capacity // (2 * BATCH)), timed=timed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--policies", default=PAPER)
    parser.add_argument("--settings", default=",".join(f"{c}x{m}" for c, m in LIMITS))
    parser.add_argument("--timed", type=int, default=100, help="batches that are timed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    model = gotta.models.load("resnet20").eval()
    rows: list[dict[str, Any]] = []
    for setting in options.settings.split(","):
        num_classes, capacity = map(int, setting.split("x"))
        limit = LIMITS.get((num_classes, capacity))
        for policy in options.policies.split(","):
            before = forward_seconds(model)
            cost = measure(policy, num_classes, capacity, options.timed)
            forward = (before + forward_seconds(model)) / 2
            row = {"policy": policy, "num_classes": num_classes, "capacity": capacity, "limit": limit}
            row |= {"us_per_sample": cost * 1e6, "forward_us": forward * 1e6, "ratio": cost / forward}
            rows.append(row)
            allowed = f"  (at most {limit:.0%})" if limit else ""
            print(f"{setting:>9} {policy:10} {cost * 1e6:8.1f} us  {cost / forward:7.2%}{allowed}", flush=True)
    if options.out:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}
        options.out.write_text(json.dumps({**machine, "numpy": np.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
