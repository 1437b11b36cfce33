"""What a batch that mixes streams costs, beside a bare forward and beside one model for each stream, and its bytes.

    python benchmarks/streams.py [--model resnet20] [--streams 16] [--samples 4] [--steps 40]

One process, one thread; time is that of this process on the processor, so that another load on the machine counts
little. In each step the bare network, one model for all streams and one model for each stream are given the same
samples, one after the other. Shown are the seconds of their fastest steps, which another load on the machine disturbs
least, in bare forwards. The streams are settled first, on samples like those that are timed. Steps in which a stream
tries a change of domain need more than one forward: their share and cost are shown apart. Limit: 1.5 bare forwards for
deskew, 16 streams of 4.

*Bytes* are the tensors of one settled stream.
"""

import argparse
from time import process_time
from typing import Any
from warnings import simplefilter

import torch
from torch import Tensor

import gotta
import gotta.models
from gotta.priors import OrderWarning

LIMIT = 1.5
SETTLED = 24  # steps before the timed ones
METHODS: dict[str, dict[str, Any]] = {
    "source": {"method": "source"},
    "deskew": {"method": "deskew"},
    "gated": {"method": "source", "statistics": "gated"},
    "running": {"method": "norm", "statistics": "running", "fed_by": "batch"},
}


def images(pool: Tensor, count: int, rng: torch.Generator) -> Tensor:
    return pool[torch.randint(len(pool), (count,), generator=rng)]


def compare(
    net: torch.nn.Module, settings: dict[str, Any], pool: Tensor, streams: int, samples: int, steps: int
) -> str:
    """What one method costs, as a line."""
    together, alone = gotta.adapt(net, **settings), [gotta.adapt(net, **settings) for _ in range(streams)]
    keys = torch.arange(streams).repeat_interleave(samples)
    rng = torch.Generator().manual_seed(0)
    bares, plain, tried, separate, off = [], [], [], [], 0.0
    for step in range(SETTLED + steps):
        x, order = images(pool, len(keys), rng), keys[torch.randperm(len(keys), generator=rng)]
        parts = [x[order == key] for key in range(streams)]
        with torch.no_grad():
            start = process_time()
            net(x)
            bares.append(process_time() - start)
        start = process_time()
        outcome = together.step(x, stream=order)
        mine = process_time() - start
        start = process_time()
        found = [model(part) for model, part in zip(alone, parts, strict=True)]
        each = process_time() - start
        for key, logits in enumerate(found):
            off = max(off, float((outcome.output[order == key] - logits).abs().max()))
        if step >= SETTLED:
            (plain if outcome.cost["predict"]["forwards"] == 1 else tried).append(mine)
            separate.append(each)
    bare = min(bares)
    held = next(iter(together.held_streams.values()))
    trials = f"{min(tried) / bare:.2f} in {len(tried)} of {steps}" if tried else "none"
    one = f"{min(plain) / bare:.2f}" if plain else "-"
    return f"{one:>8}  {trials:>16}  {min(separate) / bare:>10.2f}  {off:>9.1e}  {held.num_bytes:>11,}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--samples", type=int, default=4, help="of each stream in a batch")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--methods", default=",".join(METHODS), help="some of them")
    given = parser.parse_args()
    simplefilter("ignore", OrderWarning)
    torch.set_num_threads(1)
    net = gotta.models.load(given.model).eval()
    data = gotta.data.dataset("cifar10-mini")
    size = net.input.size
    pixels = torch.from_numpy(data.images("clean", list(range(len(data.labels)))).copy()).permute(0, 3, 1, 2)
    pool = torch.nn.functional.interpolate(pixels.float() / 255, size=(size, size)).contiguous()
    print(f"{given.model}: {given.streams} streams, {given.samples} samples of each, torch {torch.__version__}")
    print(f"{'':16}bare forwards, with trials   one for each  difference        bytes")
    for name in given.methods.split(","):
        print(f"{name:14}{compare(net, METHODS[name], pool, given.streams, given.samples, given.steps)}", flush=True)
    print(f"limit for deskew: {LIMIT}")


if __name__ == "__main__":
    main()
