"""What a step costs besides the network's own passes: memory, bookkeeping and losses, and augmentation.

    python benchmarks/step.py [--methods rotta,tent] [--memory fps] [--batch 64] [--steps 20] [--out step.json]

One process, one thread, the bundled resnet20, batches of 64, a memory of 64 rows. In the timed steps the forwards of
every network, the backwards and the augmentation are timed from inside; what is left of the step is the overhead. Time
is that of this process on the processor, so that another load on the machine does not count. Shares are of the same
step; the medians over the steps are shown. Limits are for RoTTA with FPS: overhead at most 5 % of the step without its
augmentation, augmentation at most 25 % of the step.

*Undo* is the part of the overhead that lets a step be taken back: copies, logs and the look at what a step has left.
Its share is of all timed steps together, because some adapt and some do not: at most 2 % with batches of 64 and 10 %
with batches of 1. `--batch 1` with `--every 1` adapts at each of them.

*Bare* is the whole step in forwards of the plain network, each timed right before its step, with nothing timed inside
(which slows small steps down); the shares are from a second pass over the same batches. The first row is the plain
network itself. Limits: deskew at most 1.3 with batches of 64, and with batches of 1 at most 1.5 steps of `source`.
"""

import argparse
import json
import platform
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import torch
from torch import nn

import gotta
import gotta.models
from gotta.core.inputs import Scale
from gotta.core.undo import Undo
from gotta.data import dataset
from gotta.memory import Table
from gotta.memory.state import Rewind
from gotta.memory.storage import Storage
from gotta.methods import methods
from gotta.methods.parts import augment
from gotta.priors import OrderWarning
from gotta.streams import Stream, StreamSpec

BATCH = CAPACITY = 64
SETTLED = 64  # samples before the timed ones
METHODS = "rotta,source,deskew,norm,tent,pl,shot,eta,sar,note,cotta,energy"
OVERHEAD, AUGMENTATION = 0.05, 0.25
UNDONE = {1: 0.10, BATCH: 0.02}
UNDO: dict[type, tuple[str, ...]] = {
    Undo: ("__init__", "stop", "expect_adaptation", "harm"),
    Rewind: ("__init__", "stop"),
    Table: ("_log",),
    Storage: ("_look_up",),
    Scale: ("after",),
}
SLOW = {"cotta": 3, "energy": 3}  # steps that are timed of methods with dozens of passes in each


class Clock:
    """Seconds by what they were spent on. Inside a timed call nothing else is timed, so that nothing counts twice."""

    def __init__(self) -> None:
        self.spent = {"forward": 0.0, "backward": 0.0, "augment": 0.0, "undo": 0.0}
        self.busy = False

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            if self.busy:
                return call(*arguments, **named)
            self.busy, start = True, process_time()
            try:
                return call(*arguments, **named)
            finally:
                self.spent[name] += process_time() - start
                self.busy = False

        return run


@contextmanager
def watched(clock: Clock, networks: list[nn.Module]) -> Iterator[None]:
    """Forwards of these networks, backwards and the augmentation go through the clock."""
    for net in networks:
        net.forward = clock.timed("forward", net.forward)  # type: ignore[method-assign]
    backward = clock.timed("backward", torch.Tensor.backward)
    gradient = clock.timed("backward", torch.autograd.grad)
    changed = clock.timed("augment", augment.random_augmentation)
    with ExitStack() as stack:
        stack.enter_context(patch.object(torch.Tensor, "backward", backward))
        stack.enter_context(patch.object(torch.autograd, "grad", gradient))
        stack.enter_context(patch.object(augment, "random_augmentation", changed))
        for owner, names in UNDO.items():
            for name in names:
                stack.enter_context(patch.object(owner, name, clock.timed("undo", getattr(owner, name))))
        yield
    for net in networks:
        del net.forward


def measure(method: str, memory: str, batches: list[torch.Tensor], **settings: Any) -> dict[str, float]:
    """Medians over steps: milliseconds of a step, and the shares of overhead and augmentation in it; that of undo."""
    net = gotta.models.load("resnet20").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    pairing = "memory" if len(batches[0]) == 1 else "paper"  # one sample has no batch statistics
    held = (memory, None if memory == "none" else CAPACITY)
    bare = deepcopy(net).eval()
    model = gotta.adapt(net, method, *held, num_classes=10, pairing=pairing, **settings)
    for x in batches[: warm_up(len(batches[0]))]:
        model(x)
        forward_time(bare, x)
    timed = batches[warm_up(len(batches[0])) :][: SLOW.get(method)]
    times = []
    for x in timed:
        plain = forward_time(bare, x)
        start = process_time()
        model(x)
        times.append((process_time() - start, plain))
    rows = []
    networks = list(model.method.networks().values())
    for x in timed:
        clock = Clock()
        with watched(clock, networks):
            start = process_time()
            model(x)
            total = process_time() - start
        augmentation, undo = clock.spent["augment"], clock.spent["undo"]
        rest = total - sum(clock.spent.values()) + undo
        rows.append((total, rest / (total - augmentation), augmentation / total, undo))
    totals, overheads, augmentations, undos = zip(*rows, strict=True)
    return {
        "ms": 1000 * statistics.median(step for step, _ in times),
        "overhead": statistics.median(overheads),
        "augmentation": statistics.median(augmentations),
        "undo": sum(undos) / sum(totals),
        "bare": statistics.median(step / plain for step, plain in times),
        "bare_ms": 1000 * statistics.median(plain for _, plain in times),
    }


def warm_up(batch: int) -> int:
    """Steps that are not timed: the first ones set things up, and deskew jumps to the domain in its first samples."""
    return max(2, -(-SETTLED // batch))


def forward_time(net: nn.Module, x: torch.Tensor) -> float:
    with torch.inference_mode():
        start = process_time()
        net(x)
        return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--memory", default="fps")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--every", type=int, help="samples between adaptations; the rows of the memory if not given")
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    stream = Stream(
        dataset("cifar10-mini"), StreamSpec.of(batch_size=options.batch, domains="clean", schedule="one", per_class=150)
    )
    batches = [step.x for step, _ in zip(stream, range(options.steps + warm_up(options.batch)), strict=False)]
    rows: list[dict[str, Any]] = []
    for method in options.methods.split(","):
        memory = options.memory if methods.get(method).uses_memory else "none"
        with catch_warnings():
            simplefilter("ignore", OrderWarning)
            found = measure(method, memory, batches, adapt_every=options.every)
        if not rows:
            print(f"{'bare':8} {'':6} {options.batch:3} {found['bare_ms']:8.1f} ms", flush=True)
        rows.append({"method": method, "memory": memory, "batch": options.batch, **found})
        judged = method == "rotta" and options.batch == BATCH
        limits = f"  (at most {OVERHEAD:.0%} and {AUGMENTATION:.0%})" if judged else ""
        shares = f"overhead {found['overhead']:6.2%}  augmentation {found['augmentation']:6.2%}"
        limit = f" (at most {UNDONE[options.batch]:.0%})" if options.batch in UNDONE else ""
        shares += f"  bare {found['bare']:5.2f}  undo {found['undo']:6.2%}{limit}"
        print(f"{method:8} {memory:6} {options.batch:3} {found['ms']:8.1f} ms  {shares}{limits}", flush=True)
    if options.out:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}
        options.out.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
