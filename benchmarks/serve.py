"""How long a request waits: p50 and p99 of predictions at half load, beside the bare network in the same run.

    python benchmarks/serve.py [--methods deskew,rotta] [--batches 16,1] [--seconds 10] [--out serve.json]

The bundled resnet20, one torch thread, requests that arrive at a fixed pace: one in twice the time that the bare
network takes (half load). Latency counts from the moment at which a request should have arrived, so that one that waits
for the one before it counts as slow. For each method the bare network serves first, then the adapted one: `at once`
adapts inside the call, `behind` with background=True, if anything can be put behind. Ratios are to that bare network.
Limit: p99 of `behind` with batches of 16 at most 1.3 times the bare network's. Nothing else may run on the machine; the
load is printed. Shown beside it: the time that the calling thread spent on the processor, which other load disturbs
less. docs/make_pages.py makes a page of benchmarks/serve.json.

`--seconds` are for one method with batches of 16: a quarter for the bare network, a quarter at once, half behind, which
is about 250 requests. Batches of 1 have a third of them and more requests. As a service should, the benchmark calls
gc.freeze() once a model is warm, or a collection of all that was imported would hold up a request now and then. What is
measured is written as it comes; `--out` of a run that was cut off has the methods so far.
"""

import argparse
import gc
import json
import os
import platform
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter, sleep, thread_time
from typing import Any
from warnings import catch_warnings, simplefilter

import numpy as np
import torch

import gotta
import gotta.models
from gotta.core.background import Background
from gotta.data import dataset
from gotta.methods import methods
from gotta.streams import Stream, StreamSpec

LIMIT = 1.3
CAPACITY = 64
WARM = 8
SHARES = {"bare": 0.25, "at once": 0.25, "behind": 0.5}  # of the seconds for a method


def serve(
    call: Callable[[torch.Tensor], Any], requests: list[torch.Tensor], pace: float, seconds: float
) -> dict[str, float]:
    """Milliseconds from the arrival of each request to its answer, and of those on the processor in this thread."""
    gc.collect()
    gc.freeze()
    spent, busy, start = [], [], perf_counter() + pace
    for turn, x in enumerate(cycle(requests)):
        arrival = start + turn * pace
        sleep(max(0.0, arrival - perf_counter()))
        began = thread_time()
        call(x)
        busy.append(thread_time() - began)
        spent.append(perf_counter() - arrival)
        if perf_counter() - start > seconds:
            break
    gc.unfreeze()
    named = (("", spent), ("cpu_", busy))
    found = {f"{name}p{q}": 1000 * float(np.percentile(values, q)) for name, values in named for q in (50, 99)}
    return {**found, "requests": len(spent)}


def measure(method: str, requests: list[torch.Tensor], seconds: float) -> Iterator[dict[str, Any]]:
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
    found = serve(bare, requests, pace, SHARES["bare"] * seconds)
    plain = {f"bare_{name}": value for name, value in found.items()}
    memory = "fps" if methods.get(method).uses_memory else "none"
    for background in (False, True):
        model = gotta.adapt(net, method, memory, CAPACITY if memory == "fps" else None, 10, background=background)
        if background and not isinstance(model, Background):
            return
        for x in requests[:WARM]:
            model(x)
        model.wait()
        numbers = serve(model, requests, pace, SHARES["behind" if background else "at once"] * seconds)
        dropped = getattr(model, "dropped", 0) / numbers["requests"]
        yield {"method": method, "background": background, **numbers, **plain, "dropped": dropped}
        thread = model.behind.thread if isinstance(model, Background) and model.behind else None
        del model
        if thread is not None:
            thread.join()  # it ends without its model, so that nothing works on behind the next one


def show(found: dict[str, Any]) -> None:
    limit = f" (at most {LIMIT})" if found["background"] and found["batch"] == 16 else ""
    print(
        f"{found['method']:8} batch {found['batch']:3} {'behind ' if found['background'] else 'at once'}  "
        f"p50 {found['p50']:8.1f} ms  p99 {found['p99']:8.1f} ms  "
        f"bare {found['bare_p50']:6.1f} {found['bare_p99']:6.1f}  "
        f"p99 {found['p99'] / found['bare_p99']:6.2f}x{limit}  dropped {found['dropped']:.0%}  "
        f"on the processor: p50 {found['cpu_p50']:.1f} p99 {found['cpu_p99']:.1f}, "
        f"bare {found['bare_cpu_p50']:.1f} {found['bare_cpu_p99']:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(methods.names()))
    parser.add_argument("--batches", default="16,1")
    parser.add_argument("--seconds", type=float, default=10.0, help="for one method with batches of 16")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f} before the first request", flush=True)
    machine: dict[str, Any] = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processors": os.cpu_count(),
        "load": load,
        "seconds": options.seconds,
    }
    rows: list[dict[str, Any]] = []
    for size in map(int, options.batches.split(",")):
        spec = StreamSpec.of(batch_size=size, domains="clean", schedule="one", per_class=150)
        requests = [step.x for step in Stream(dataset("cifar10-mini"), spec)]
        for method in options.methods.split(","):
            try:
                with catch_warnings():
                    simplefilter("ignore")
                    for found in measure(method, requests, options.seconds / (1 if size > 1 else 3)):
                        rows.append({**found, "batch": size})
                        show(rows[-1])
            except gotta.GottaError as error:
                print(f"{method:8} batch {size:3} is left out: {str(error)[:100]}", flush=True)
            if options.out:
                options.out.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")
    print(f"load {os.getloadavg()[0]:.1f} after the last", flush=True)


if __name__ == "__main__":
    main()
