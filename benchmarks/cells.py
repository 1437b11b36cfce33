"""What the cells of a recipe spend besides their forwards and backwards, and on what.

    python benchmarks/cells.py [mini] [--seeds 0] [--set stream.per_class=20] [--out cells.json]

One process, one thread, all cells one after the other, as a worker of a sweep runs them: claimed, computed, stored.
Seconds are those of this process on the processor, after its imports. After each step its forwards and backwards are
done again, the same number with the same samples, through the plain network (BatchNorm with the statistics of the batch
where the cell's had them): that is *bare*, and does not count for the cell. *Ratio* is the cell without the corrupting
of its images, over bare: at most 1.25 for all cells of `mini` together. Then, in percent of bare, what the rest is:

network  passes of the cell's network beyond bare: levels and signatures, another mode, another layout
undo     copies, so that a step can be taken back, and the look at what it has left
memory   the policy's decisions, storing and reading rows
scores   accuracy, calibration and entropy of each step
measures what the memory looks like after each step
images   reading images and making tensors of them
begin    stream, network, method, claim, hashes of data and code
write    the run's files
other    everything else

Memory that a forward frees is kept in both (`gotta.freed_memory`). With GLIBC_TUNABLES=glibc.malloc.arena_max=8, a
choice of the user's that says nothing of it, it goes back to the system: compare the seconds of two runs.
"""

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn

import gotta
from gotta.core.undo import Undo
from gotta.data.dataset import Corrupting
from gotta.experiment.run import run as running
from gotta.experiment.run.loaded import model_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep import cell
from gotta.experiment.sweep.cell import Event, Work, execute
from gotta.memory import Memory
from gotta.metrics import Buffer, Online
from gotta.statistics.normalization import batch_norms, batch_statistics
from gotta.streams import Stream, ahead

TARGET = 1.25
WIDTH = 54  # of the names of cells
PARTS = ("network", "undo", "memory", "scores", "measures", "images", "begin", "write", "other")
TIMED: dict[str, list[tuple[Any, str]]] = {
    "backward": [(torch.Tensor, "backward"), (torch.autograd, "grad")],
    "corrupting": [(Corrupting, "images")],
    "undo": [(Undo, name) for name in ("__init__", "expect_adaptation", "harm")],
    "memory": [(Memory, "observe"), (Memory, "batch")],
    "scores": [(Online, "update")],
    "measures": [(Buffer, "update"), (Buffer, "measure"), (Memory, "peek")],
    "images": [(Stream, "step"), (Stream, "request"), (ahead, "shown")],
    "begin": [
        *((running, name) for name in ("Stream", "inputs_used", "images_used", "model_of", "settle_cell", "build")),
        *((running, name) for name in ("deepcopy", "Scoring")),
        *((cell, name) for name in ("claim", "environment")),
        (RunSpec, "check_unchanged"),
    ],
    "write": [(cell, "keep")],
}


class Clock:
    """Seconds by what they were spent on; those of a timed call inside another belong to the inner one alone."""

    def __init__(self) -> None:
        self.spent: Counter[str] = Counter()
        self._open, self._since = ["other"], process_time()

    def charge(self) -> None:
        now = process_time()
        self.spent[self._open[-1]] += now - self._since
        self._since = now

    @contextmanager
    def on(self, name: str) -> Iterator[None]:
        self.charge()
        self._open.append(name)
        try:
            yield
        finally:
            self.charge()
            self._open.pop()

    def timed(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            inner = "memory" if name == "measures" and self._open[-1] == "memory" else name  # a batch is a peek
            with self.on(inner):
                return call(*arguments, **named)

        return run


class Passes:
    """The forwards and backwards since the last look, to be done again by the plain network."""

    def __init__(self, plain: nn.Module) -> None:
        self.plain = deepcopy(plain).eval().requires_grad_(False)
        self.forwards: list[tuple[Tensor, bool, bool]] = []
        self.backwards = self.samples = 0

    def watch(self, net: nn.Module, x: Tensor) -> None:
        trained = [parameter.requires_grad for parameter in net.parameters()]
        graph = torch.is_grad_enabled() and any(trained)
        if graph:
            for parameter, flag in zip(self.plain.parameters(), trained, strict=False):
                parameter.requires_grad_(flag)
        self.forwards.append((x, any(layer.training for layer in batch_norms(net)), graph))

    def repeat(self, forward: Callable[[nn.Module, Tensor], Tensor]) -> None:
        for x, of_batch, graph in self.forwards:
            self.samples += len(x)
            with ExitStack() as mode:
                mode.enter_context(torch.set_grad_enabled(graph))
                if of_batch:
                    mode.enter_context(batch_statistics(self.plain, 0.1))
                logits = forward(self.plain, x)
            if graph and self.backwards:
                self.backwards -= 1
                logits.logsumexp(1).mean().backward()  # type: ignore[no-untyped-call]
                self.plain.zero_grad()
        self.forwards, self.backwards = [], 0


def measure(spec: RunSpec, work: Work) -> dict[str, Any]:
    """Seconds of one cell by what they were spent on, and `bare`."""
    network = model_of(spec)
    kind, clock, passes = type(network), Clock(), Passes(network)
    forward, backward = kind.forward, torch.Tensor.backward

    def watched(net: nn.Module, x: Tensor) -> Any:
        with clock.on("looking on"):
            passes.watch(net, x)
        with clock.on("forward"):
            return forward(net, x)

    def counted(*arguments: Any, **named: Any) -> None:
        passes.backwards += 1
        backward(*arguments, **named)  # type: ignore[no-untyped-call]

    def hear(event: Event) -> None:
        if event.kind == "failed":
            raise SystemExit(event.message)
        with clock.on("looking on"):
            started = process_time()
            with patch.object(torch.Tensor, "backward", backward):
                passes.repeat(forward)
            clock.spent["bare"] += process_time() - started

    with ExitStack() as stack:
        stack.enter_context(patch.object(torch.Tensor, "backward", counted))
        for name, places in TIMED.items():
            for owner, attribute in places:
                call = clock.timed(name, getattr(owner, attribute))
                stack.enter_context(patch.object(owner, attribute, call))
        stack.enter_context(patch.object(kind, "forward", watched))
        execute(spec, work, hear)
        clock.charge()
    return {"samples": passes.samples, **clock.spent}


def shares(found: dict[str, Any]) -> dict[str, float]:
    """The ratio, and each part in percent of bare."""
    parts = {name: found.get(name, 0.0) for name in PARTS}
    parts["network"] = found["forward"] + found.get("backward", 0.0) - found["bare"]
    ratio = 1 + sum(parts.values()) / found["bare"]
    return {"ratio": ratio, **{name: 100 * seconds / found["bare"] for name, seconds in parts.items()}}


def line(name: str, found: dict[str, Any]) -> str:
    told = shares(found)
    seconds = f"{found['bare']:7.2f} {found.get('corrupting', 0.0):7.2f} {told.pop('ratio'):6.3f}"
    return f"{name:{WIDTH}} {found['samples']:7,} {seconds} " + "".join(f"{value:9.1f}" for value in told.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe", nargs="?", default="mini")
    parser.add_argument("--seeds", default="0", help="by comma")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--set", action="append", default=[], help="a setting for all cells, as section.name=value")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    cells, total = {}, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        plan = gotta.plan(
            given.recipe, quick=given.quick, seeds=[*map(int, given.seeds.split(","))], settings=given.set, out=folder
        )
        heading = f"{'cell':{WIDTH}} {'samples':>7} {'bare s':>7} {'corrupt':>7} {'ratio':>6} "
        print(heading + "".join(f"{name:>9}" for name in PARTS), flush=True)
        for spec in plan.specs:
            name = plan.labels[spec.id]
            cells[name] = measure(spec, Work(folder))
            total.update(cells[name])
            print(line(name, cells[name]), flush=True)
    print(line(f"all {len(cells)} cells", total) + f"   (ratio at most {TARGET})")
    if given.out:
        given.out.write_text(json.dumps(cells, indent=1) + "\n")


if __name__ == "__main__":
    main()
