"""Whether a step stays as small and as fast as it was: memory and time at the start and at the end of a long stream.

    python benchmarks/soak.py [--steps 50000] [--setups 'deskew;tent'] [--out soak.txt]

A process and a thread for each set-up, one after the other; batches of 4 of a random stream whose classes come in runs.
The start is the window after the first steps, the end is the last window; a window is a tenth of the steps, at most a
thousand. Time is the median of a step by the processor's clock; memory is the resident set of the process. `resnet20`
takes a tenth of the steps. Memory may grow by 5 % and time by 10 % (a busy machine moves time by itself).
"""

import argparse
import multiprocessing
import os
import statistics
from collections import deque
from pathlib import Path
from time import process_time
from typing import Any
from warnings import simplefilter

import torch
from torch import nn

import gotta
import gotta.models

BATCH, CLASSES, SIZE = 4, 10, 8
KNOWN = 512  # batches, which come again and again
SETUPS: dict[str, dict[str, Any]] = {
    "deskew": {"method": "deskew"},
    "tent": {"method": "tent"},
    "rotta, cstu": {"method": "rotta", "memory": "cstu", "capacity": 64},
    "norm, reservoir": {"method": "norm", "memory": "reservoir", "capacity": 64},
    "eata, fps, guard": {"method": "eata", "memory": "fps", "capacity": 64, "guard": "rollback"},
    "lame, fifo": {"method": "lame", "memory": "fifo", "capacity": 64},
    "deskew of resnet20": {"method": "deskew"},
}


def tiny() -> nn.Module:
    torch.manual_seed(0)
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, CLASSES)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), *head)


def batches(size: int) -> list[torch.Tensor]:
    draws = torch.Generator().manual_seed(0)
    looks = torch.rand(CLASSES, 3, size, size, generator=draws)
    noise = torch.rand(KNOWN, BATCH, 3, size, size, generator=draws)
    return [(looks[number // 8 % CLASSES] + noise[number]) / 2 for number in range(KNOWN)]


def resident() -> float:
    """Megabytes of this process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def soak(name: str, steps: int) -> dict[str, float]:
    """Memory and the time of a step in the first window after the warm-up, and in the last."""
    torch.set_num_threads(1)
    simplefilter("ignore")  # a random stream is not what a prior expects
    large = "resnet20" in name
    net, images = (gotta.models.load("resnet20"), batches(32)) if large else (tiny(), batches(SIZE))
    model = gotta.adapt(net, **SETUPS[name], num_classes=CLASSES, pairing="memory")
    window = min(1000, steps // 10)
    found: dict[str, float] = {}
    times: deque[float] = deque(maxlen=window)
    for number in range(steps):
        start = process_time()
        model(images[number % KNOWN])
        times.append(process_time() - start)
        if number + 1 in (2 * window, steps):
            when = "start" if number + 1 == 2 * window else "end"
            found |= {f"{when}_ms": 1000 * statistics.median(times), f"{when}_mb": resident()}
    return found


def line(name: str, steps: int, found: dict[str, float]) -> str:
    grown, slower = found["end_mb"] / found["start_mb"] - 1, found["end_ms"] / found["start_ms"] - 1
    memory = f"{found['start_mb']:7.1f} -> {found['end_mb']:7.1f} MB ({grown:+6.1%})"
    return (
        f"{name:20} {steps:6} steps  {memory}  {found['start_ms']:7.3f} -> {found['end_ms']:7.3f} ms ({slower:+6.1%})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--setups", help=f"separated by ';', of {'; '.join(SETUPS)}")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = []
    for name in options.setups.split(";") if options.setups else SETUPS:
        steps = options.steps // 10 if "resnet20" in name else options.steps
        with multiprocessing.get_context("spawn").Pool(1) as alone:
            lines.append(line(name, steps, alone.apply(soak, (name, steps))))
        print(lines[-1], flush=True)
        if options.out:
            options.out.write_text("\n".join([f"torch {torch.__version__}, one thread", *lines]) + "\n")


if __name__ == "__main__":
    main()
