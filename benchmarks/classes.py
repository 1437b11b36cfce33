"""What a step costs with many classes and large memories: it grows with what is stored, not with C x C.

    python benchmarks/classes.py [--classes 10,1000,100000] [--capacities 64,1000000] [--out classes.txt]

A process and a thread for each set-up; a network of 8 features and a linear head of C classes, batches of 8 samples of
3 x 8 x 8. Each line has the median of a step by the processor's clock, and how much memory the process took beyond the
network: its peak after the steps minus the resident set before `adapt`. A memory of a million slots is not filled
here; what counts is what it takes beforehand. What cannot be done is printed as it is said.
"""

import argparse
import gc
import multiprocessing
import os
import resource
import statistics
from pathlib import Path
from time import process_time
from typing import Any
from warnings import simplefilter

import torch
from torch import nn

import gotta

BATCH, STEPS = 8, 6
SETUPS: list[tuple[str, str]] = [
    ("deskew", "none"),
    ("tent", "none"),
    ("eata", "none"),
    ("sar", "none"),
    ("lame", "none"),
    ("t3a", "none"),
    ("tent", "fifo"),
    ("tent", "fps"),
    ("rotta", "cstu"),
    ("note", "pbrs"),
]


def network(classes: int) -> nn.Module:
    torch.manual_seed(0)
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, classes)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), *head)


def resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure(method: str, memory: str, classes: int, capacity: int, steps: int) -> dict[str, Any]:
    """Milliseconds of a step and megabytes beyond the network; or why there are none."""
    torch.set_num_threads(1)
    simplefilter("ignore")
    net, draws = network(classes), torch.Generator().manual_seed(0)
    net(torch.rand(2, 3, 8, 8))
    gc.collect()
    before, times = resident(), []
    held = {} if memory == "none" else {"memory": memory, "capacity": capacity, "adapt_every": BATCH}
    try:
        model = gotta.adapt(net, method, num_classes=classes, **held)
        for _ in range(steps):
            x = torch.rand(BATCH, 3, 8, 8, generator=draws)
            start = process_time()
            model(x)
            times.append(process_time() - start)
    except gotta.GottaError as error:
        return {"refused": str(error)}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    return {"ms": 1000 * statistics.median(times[1:]), "mb": peak - before}


def line(setup: tuple[str, str, int, int | None], found: dict[str, Any]) -> str:
    method, memory, classes, capacity = setup
    where = f"{method:7} {memory:5} C={classes:<7,} capacity={'-' if capacity is None else f'{capacity:,}':9}"
    return (
        f"{where} {found['refused']}" if "refused" in found else f"{where} {found['ms']:9.1f} ms {found['mb']:9.1f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", default="10,1000,10000,100000")
    parser.add_argument("--capacities", default="64,1000000")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--only", default="", help="methods, by comma")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    lines = [f"python benchmarks/classes.py, one thread, torch {torch.__version__}", ""]
    for classes in map(int, options.classes.split(",")):
        for method, memory in SETUPS:
            if options.only and method not in options.only.split(","):
                continue
            for capacity in [None] if memory == "none" else map(int, options.capacities.split(",")):
                with multiprocessing.get_context("spawn").Pool(1) as alone:
                    found = alone.apply(measure, (method, memory, classes, capacity or 1, options.steps))
                lines.append(line((method, memory, classes, capacity), found))
                print(lines[-1], flush=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
