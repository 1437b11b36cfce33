"""Is every corruption found that batch statistics would help with?

    python benchmarks/found.py [--networks resnet20,resnet56] [--batches 8,64] [--seed 0] [--out found.txt]

For each corruption at severities 3 and 5: what the batch's own statistics gain over the source on i.i.d. images (960,
batches of 64), how many samples the default sees before it leaves the source's level (three draws of 256 images), and
what the default without a prior gains on the same images. Where batch statistics gain more than 5 points the change
should be found within 128 samples.
"""

import argparse
from pathlib import Path
from warnings import simplefilter

import harm
import numpy as np
import torch

import gotta
from gotta.data.corruptions import EXTRA, STANDARD

LIMIT, WORTH, DRAWS = 128, 5.0, 3


def count_until_found(net: torch.nn.Module, samples: harm.Samples, batch: int) -> int | None:
    model = gotta.adapt(net, prior="none")
    for end in range(batch, len(samples.images) + 1, batch):
        model.step(harm.to_tensor(samples.images[end - batch : end]))
        if model.method.statistics.away:
            return end
    return None


def count_right(net: torch.nn.Module, samples: harm.Samples, **settings: str) -> float:
    found = harm.predict_adapted(net, samples, settings) if settings else harm.predict_plain(net, samples)
    return 100 * float((found == samples.labels).mean())


def tell(found: list[int | None]) -> str:
    return " ".join("never" if at is None else str(at) for at in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", default="resnet20,resnet56")
    parser.add_argument("--batches", default="8,64")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    simplefilter("ignore")
    sizes = [int(size) for size in options.batches.split(",")]
    lines, missed = [], 0
    for network in options.networks.split(","):
        net = harm.load_network(network)
        for name, severity in ((name, severity) for name in (*STANDARD, *EXTRA) for severity in (3, 5)):
            pool = harm.load_pool(network, np.random.default_rng([options.seed, severity]))
            look = f"{name}-{severity}"
            samples = pool.stream(pool.even(), look, batch=64)
            source = count_right(net, samples)
            batch = count_right(net, samples, method="norm", statistics="batch") - source
            ours = count_right(net, samples, prior="none") - source
            draws = [pool.stream(pool.even(256), look) for _ in range(DRAWS)]
            found = {size: [count_until_found(net, draw, size) for draw in draws] for size in sizes}
            late = sum(at is None or at > LIMIT for each in found.values() for at in each) if batch > WORTH else 0
            missed += late
            told = "   ".join(f"by {size}: {tell(each)}" for size, each in found.items())
            line = f"{network:9} {look:22} source {source:5.1f}  batch {batch:+6.1f}  default {ours:+6.1f}   {told}"
            lines.append(line + ("   LATE" if late else ""))
            print(lines[-1], flush=True)
    lines.append(
        f"{missed} draws in which a change worth more than {WORTH:g} points was found later than {LIMIT} samples"
    )
    print(lines[-1])
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
