"""How long a request waits: p50 and p99 of predictions at half load, beside the bare network in the same run.

    python benchmarks/serve.py [--methods deskew,rotta] [--batches 16,1] [--rounds 12] [--out serve.json]

The bundled resnet20, one torch thread, requests that arrive at a fixed pace: one in twice the time that the bare
network takes (half load). Latency counts from the moment at which a request should have arrived, so that one that waits
for the one before it counts as slow.

Bare network and method take turns, 84 requests each, in every round; which of them comes first changes. `behind` adapts
with background=4: as background=True does, with a shorter queue, which is worked off before it is the bare network's
turn. The ratio is that of the p99 of all requests behind to the p99 of all requests of the bare network, and its
interval comes from drawing rounds anew (95 %). Limit: a ratio of at most 1.3 with batches of 16. Twelve rounds have
1,008 requests on each side, so that a machine that stops for a moment now and then moves both and decides nothing.

`alone` is the same prediction while the thread behind has nothing to do, in every sixth round: what the prediction of
the method itself takes. `at once` adapts inside the call. Nothing else may run on the machine; the load is printed.
Shown beside it: the time that the calling thread spent on the processor, which other load disturbs less.

As a service should, the benchmark calls gc.freeze() once a model is warm, or a collection of all that was imported
would hold up a request now and then. All methods take about 20 minutes. What is measured is written as it comes: a run
that was cut off goes on from `--out`. docs/make_pages.py makes a page of benchmarks/serve.json.
"""

import argparse
import gc
import json
import os
import platform
from collections.abc import Callable, Iterator
from itertools import cycle, islice
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
from gotta.freed_memory import keep_freed_memory
from gotta.methods import methods
from gotta.streams import Stream, StreamSpec

LIMIT = 1.3
CAPACITY = 64
WARM = 8
QUEUE = 4  # batches that may wait, so that few are left to work off after a turn
REQUESTS = 84  # in a turn
DRAWN = 2000  # times, for an interval
Call = Callable[[torch.Tensor], Any]
Turns = list[np.ndarray]  # for each turn, for each request: milliseconds to its answer, and of those on the processor


def serve(call: Call, requests: Iterator[torch.Tensor], pace: float, count: int) -> np.ndarray:
    """One turn. It ends early where the model cannot keep up."""
    gc.collect()
    gc.freeze()
    spent, start = [], perf_counter() + pace
    for turn, x in enumerate(islice(requests, count)):
        arrival = start + turn * pace
        sleep(max(0.0, arrival - perf_counter()))
        began = thread_time()
        call(x)
        spent.append((perf_counter() - arrival, thread_time() - began))
        if perf_counter() - start > 2 * count * pace:
            break
    gc.unfreeze()
    return 1000 * np.array(spent)


def summarise(turns: Turns, name: str = "") -> dict[str, float]:
    of_all = np.concatenate(turns)
    named = (("", of_all[:, 0]), ("cpu_", of_all[:, 1]))
    found = {f"{name}{kind}p{q}": float(np.percentile(v, q)) for kind, v in named for q in (50, 99)}
    return {**found, f"{name}requests": len(of_all)}


def compare(turns: Turns, bare: Turns) -> dict[str, float]:
    """The ratio of the p99 of all requests, and its interval from rounds that are drawn anew."""

    def ratio(rounds: np.ndarray) -> float:
        mine, theirs = (np.concatenate([side[at][:, 0] for at in rounds]) for side in (turns, bare))
        return float(np.percentile(mine, 99) / np.percentile(theirs, 99))

    rounds, rng = np.arange(len(turns)), np.random.default_rng(0)
    drawn = [ratio(rng.choice(rounds, len(rounds))) for _ in range(DRAWN)]
    low, high = np.percentile(drawn, (2.5, 97.5))
    return {"ratio": ratio(rounds), "low": float(low), "high": float(high)}


def take_turns(model: Any, bare: Call, requests: Iterator[torch.Tensor], pace: float, rounds: int) -> dict[str, Turns]:
    """Bare network and model, and now and then the prediction of the model alone."""
    found: dict[str, Turns] = {"bare_": [], "": [], "alone_": []}
    for turn in range(rounds):
        sides = [("bare_", bare), ("", model)]
        for name, call in sides if turn % 2 else reversed(sides):
            found[name].append(serve(call, requests, pace, REQUESTS))
            model.wait()
        if isinstance(model, Background) and model.behind and turn % 6 == 0:
            found["alone_"].append(serve(model.behind.front, requests, pace, REQUESTS))
    return {name: turns for name, turns in found.items() if turns}


def measure(method: str, requests: list[torch.Tensor], rounds: int) -> Iterator[dict[str, Any]]:
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
    for background in (False, True):
        behind = QUEUE if background else False
        model = gotta.adapt(net, method, memory, CAPACITY if memory == "fps" else None, 10, background=behind)
        if background and not isinstance(model, Background):
            return
        for x in requests[:WARM]:
            model(x)
        model.wait()
        found = take_turns(model, bare, cycle(requests), pace, rounds if background else max(1, rounds // 6))
        numbers = {k: v for name, turns in found.items() for k, v in summarise(turns, name).items()}
        dropped = getattr(model, "dropped", 0) / numbers["requests"]
        yield {
            "method": method,
            "background": background,
            **numbers,
            **compare(found[""], found["bare_"]),
            "dropped": dropped,
        }
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
        f"p99 {found['ratio']:6.2f}x ({found['low']:.2f} to {found['high']:.2f}){limit}  "
        f"alone {found.get('alone_p50', 0.0):.1f} {found.get('alone_p99', 0.0):.1f}  dropped {found['dropped']:.0%}  "
        f"on the processor: p50 {found['cpu_p50']:.1f} p99 {found['cpu_p99']:.1f}, "
        f"bare {found['bare_cpu_p50']:.1f} {found['bare_cpu_p99']:.1f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=",".join(methods.names()))
    parser.add_argument("--batches", default="16,1")
    parser.add_argument("--rounds", type=int, default=12, help="with batches of 16; a third of them with others")
    parser.add_argument("--out", type=Path, help="written after each method; methods that are in it are not run again")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # as the first background=True does, for the bare network as well
    load = os.getloadavg()[0]
    print(f"{os.cpu_count()} processors, load {load:.1f} before the first request", flush=True)
    machine: dict[str, Any] = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "processors": os.cpu_count(),
        "load": load,
        "rounds": options.rounds,
    }
    there = json.loads(options.out.read_text()) if options.out and options.out.exists() else {}
    rows: list[dict[str, Any]] = there.get("rows", []) if there.get("rounds") == options.rounds else []
    for size in map(int, options.batches.split(",")):
        spec = StreamSpec.of(batch_size=size, domains="clean", schedule="one", per_class=150)
        requests = [step.x for step in Stream(dataset("cifar10-mini"), spec)]
        rounds = options.rounds if size > 1 else max(1, options.rounds // 3)
        for method in options.methods.split(","):
            if any((row["method"], row["batch"]) == (method, size) for row in rows):
                continue
            try:
                with catch_warnings():
                    simplefilter("ignore")
                    for found in list(measure(method, requests, rounds)):
                        rows.append({**found, "batch": size})
                        show(rows[-1])
            except gotta.GottaError as error:
                print(f"{method:8} batch {size:3} is left out: {str(error)[:100]}", flush=True)
            if options.out:
                options.out.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")
    print(f"load {os.getloadavg()[0]:.1f} after the last", flush=True)


if __name__ == "__main__":
    main()
