"""How long a request waits: p50 and p99 of predictions at half load, beside the bare network in the same run.

    python benchmarks/serve.py [--methods deskew,rotta] [--batches 1,16] [--requests 400] [--out serve.json]

The bundled resnet20, one torch thread, requests that arrive at a fixed pace: one in twice the time that the bare
network takes (half load). Latency counts from the moment at which a request should have arrived, so that one that waits
for the one before it counts as slow. For each method: `at once` adapts inside the call, `behind` with background=True.
Right before each of them the bare network serves the same requests; ratios are to that. Limit: p99 of `behind` with
batches of 16 at most 1.3 times the bare network's. Nothing else may run on the machine; the load is printed. Shown
beside it: the time that the calling thread spent on the processor, which other load disturbs less.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch

import gotta
import gotta.models
from gotta.data import dataset
from gotta.methods import methods
from gotta.priors import OrderWarning
from gotta.streams import Stream, StreamSpec

METHODS = "source,deskew,norm,tent,pl,shot,eta,sar,note,rotta,cotta"
LIMIT = 1.3
CAPACITY = 64
WARM = 8


def serve(call: Callable[[torch.Tensor], Any], requests: list[torch.Tensor], pace: float) -> dict[str, float]:
    """Milliseconds from the arrival of each request to its answer, and of those on the processor in this thread."""
    spent, busy, start = [], [], perf_counter() + pace
    for turn, x in enumerate(requests):
        arrival = start + turn * pace
        sleep(max(0.0, arrival - perf_counter()))
        began = thread_time()
        call(x)
        busy.append(thread_time() - began)
        spent.append(perf_counter() - arrival)
    named = (("", spent), ("cpu_", busy))
    return {f"{name}p{q}": 1000 * float(np.percentile(values, q)) for name, values in named for q in (50, 99)}


def measure(method: str, size: int, background: bool, requests: list[torch.Tensor]) -> dict[str, Any]:
    net = gotta.models.load("resnet20").eval()
    bare = torch.inference_mode()(net)
    for x in requests[:WARM]:
        bare(x)
    times = []
    for x in requests[:32]:
        start = perf_counter()
        bare(x)
        times.append(perf_counter() - start)
    pace = 2 * float(np.median(times))
    memory = "fps" if methods.get(method).uses_memory else "none"
    model = gotta.adapt(net, method, memory, CAPACITY if memory == "fps" else None, 10, background=background)
    plain = serve(bare, requests, pace)
    for x in requests[:WARM]:
        model(x)
    model.wait()
    numbers = serve(model, requests, pace)
    beside = {f"bare_{name}": value for name, value in plain.items()}
    dropped = getattr(model, "dropped", 0) / len(requests)
    return {"method": method, "batch": size, "background": background, **numbers, **beside, "dropped": dropped}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--batches", default="1,16")
    parser.add_argument("--requests", type=int, default=400)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f} before the first request", flush=True)
    rows = []
    for size in map(int, options.batches.split(",")):
        spec = StreamSpec.of(batch_size=size, domains="clean", schedule="one", per_class=150)
        seen = [step.x for step in Stream(dataset("cifar10-mini"), spec)]
        requests = [seen[turn % len(seen)] for turn in range(options.requests)]
        for method in options.methods.split(","):
            for background in (False, True):
                with catch_warnings():
                    simplefilter("ignore", OrderWarning)
                    found = measure(method, size, background, requests)
                rows.append(found)
                ratio = found["p99"] / found["bare_p99"]
                limit = f" (at most {LIMIT})" if background and size == 16 else ""
                print(
                    f"{method:8} batch {size:3} {'behind ' if background else 'at once'}  p50 {found['p50']:8.1f} ms  "
                    f"p99 {found['p99']:8.1f} ms  bare {found['bare_p50']:6.1f} {found['bare_p99']:6.1f}  "
                    f"p99 {ratio:6.2f}x{limit}  dropped {found['dropped']:.0%}  "
                    f"on the processor: p50 {found['cpu_p50']:.1f} p99 {found['cpu_p99']:.1f}, "
                    f"bare {found['bare_cpu_p50']:.1f} {found['bare_cpu_p99']:.1f}",
                    flush=True,
                )
    print(f"load {os.getloadavg()[0]:.1f} after the last", flush=True)
    if options.out:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}
        options.out.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
