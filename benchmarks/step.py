"""What a step costs besides the network's own passes: memory, bookkeeping and losses, and augmentation.

    python benchmarks/step.py [--methods rotta,tent] [--memory fps] [--steps 20] [--out step.json]

One process, one thread, the bundled resnet20, batches of 64, a memory of 64 rows. In the timed steps the forwards of
every network, the backwards and the augmentation are timed from inside; what is left of the step is the overhead. Time
is that of this process on the processor, so that another load on the machine does not count. Shares are of the same
step; the medians over the steps are shown. Limits are for RoTTA with FPS: overhead at most 5 % of the step without its
augmentation, augmentation at most 25 % of the step.
"""

import argparse
import json
import platform
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

import gotta
import gotta.models
from gotta.data import dataset
from gotta.methods.parts import augment
from gotta.streams import Stream, StreamSpec

BATCH = CAPACITY = 64
METHODS = "rotta,source,norm,tent,pl,shot,eta,sar,note,cotta,energy"
OVERHEAD, AUGMENTATION = 0.05, 0.25
SLOW = {"cotta": 3, "energy": 3}  # steps that are timed of methods with dozens of passes in each


class Clock:
    """Seconds by what they were spent on. Inside a timed call nothing else is timed, so that nothing counts twice."""

    def __init__(self) -> None:
        self.spent = {"forward": 0.0, "backward": 0.0, "augment": 0.0}
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
    with (
        patch.object(torch.Tensor, "backward", backward),
        patch.object(torch.autograd, "grad", gradient),
        patch.object(augment, "random_augmentation", changed),
    ):
        yield
    for net in networks:
        del net.forward


def measure(method: str, memory: str, batches: list[torch.Tensor]) -> dict[str, float]:
    """Medians over steps: milliseconds of a step, and the shares of overhead and augmentation in it."""
    net = gotta.models.load("resnet20").to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    model = gotta.adapt(net, method, memory, CAPACITY, num_classes=10)
    for x in batches[:2]:  # the first steps also set things up
        model(x)
    rows = []
    networks = list(model.method.networks().values())
    for x in batches[2 : 2 + SLOW.get(method, len(batches))]:
        clock = Clock()
        with watched(clock, networks):
            start = process_time()
            model(x)
            total = process_time() - start
        augmentation = clock.spent["augment"]
        rest = total - sum(clock.spent.values())
        rows.append((total, rest / (total - augmentation), augmentation / total))
    step, overhead, augmentation = (statistics.median(column) for column in zip(*rows, strict=True))
    return {"ms": 1000 * step, "overhead": overhead, "augmentation": augmentation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default=METHODS)
    parser.add_argument("--memory", default="fps")
    parser.add_argument("--steps", type=int, default=20, help="steps that are timed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    stream = Stream(
        dataset("cifar10-mini"), StreamSpec.of(batch_size=BATCH, domains="clean", schedule="one", per_class=150)
    )
    batches = [step.x for step, _ in zip(stream, range(options.steps + 2), strict=False)]
    rows: list[dict[str, Any]] = []
    for method in options.methods.split(","):
        found = measure(method, options.memory, batches)
        rows.append({"method": method, "memory": options.memory, **found})
        limits = f"  (at most {OVERHEAD:.0%} and {AUGMENTATION:.0%})" if method == "rotta" else ""
        shares = f"overhead {found['overhead']:6.2%}  augmentation {found['augmentation']:6.2%}"
        print(f"{method:8} {options.memory:6} {found['ms']:8.1f} ms  {shares}{limits}", flush=True)
    if options.out:
        machine = {"machine": platform.machine(), "python": platform.python_version(), "torch": torch.__version__}
        options.out.write_text(json.dumps({**machine, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
