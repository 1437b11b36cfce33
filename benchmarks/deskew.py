"""What deskew reaches, beside running statistics at the best of five rates and the limit of statistics.

    python benchmarks/deskew.py [--only dirichlet-0.1,iid] [--out benchmarks/deskew.jsonl]

One process, one thread. Every finished part is a line of the file and is not run again, so a killed run goes on where
it was; docs/pages/deskew.py makes the table of docs/deskew.md. Everything is severity 5 and continual:

- `five`: the bundled resnet20 on gaussian noise, defocus blur, snow, contrast, pixelate, 2,000 bundled images each,
  batches of 64, on all streams; `ten`: the other ten standard corruptions; `resnet56`: another author's network (its
  file lies in the data home); `batch-16`, `batch-1`: smaller batches, the control's rate being 1 - (1 - rate)^(B/64).
- `video`: tracks of traffic signs (in the data home), steps of 32, beside every memory of the paper with Norm.

Seeds 201, 202 and 203 were used for nothing else; after the first only its best rate and the two beside it are run, and
for `resnet56` those of resnet20 first; more of them until both neighbours of the best are known.
Running statistics keep no memory: a second forward feeds them the test batch, normalised with the batch itself, as a
memory's rows are. The limit knows each domain's statistics.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from copy import deepcopy
from pathlib import Path
from time import process_time
from typing import Any
from warnings import catch_warnings, simplefilter

import torch
from torch import nn

import gotta
import gotta.models
from gotta.data import dataset
from gotta.data.home import find
from gotta.statistics.normalization import batch_norms, batch_statistics
from gotta.streams import Stream, StreamSpec
from gotta.types import CORRUPTIONS

FIVE = ("gaussian_noise", "defocus_blur", "snow", "contrast", "pixelate")
TEN = tuple(name for name in CORRUPTIONS[:15] if name not in FIVE)
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
SEEDS = (201, 202, 203)
STREAMS: dict[str, dict[str, Any]] = {
    "dirichlet-0.1": {"order": "dirichlet", "gamma": 0.1},
    "iid": {"order": "iid"},
    "pairs": {"order": "pairs"},
    "sorted": {"order": "sorted"},
    "dirichlet-0.01": {"order": "dirichlet", "gamma": 0.01, "underflow": "one_slot"},
    "dirichlet-1": {"order": "dirichlet", "gamma": 1.0},
    "mixed": {"order": "dirichlet", "gamma": 0.1, "schedule": "mixed"},
    "gradual": {"order": "dirichlet", "gamma": 0.1, "schedule": "gradual", "per_class": 25},
    "recurring": {"order": "dirichlet", "gamma": 0.1, "schedule": "recurring", "repeats": 2, "per_class": 100},
}
VIDEO: dict[str, Any] = {
    "order": "dirichlet",
    "gamma": 0.1,
    "schedule": "one",
    "domains": ("gaussian_noise",),
    "frames": 30,
}
MEMORIES = ("fifo", "reservoir", "pbrs", "cstu", "cds", "fps")
OURS: dict[str, dict[str, Any]] = {
    "class": {"method": "norm", "statistics": "class"},
    "gated": {"method": "norm", "statistics": "gated"},
    "deskew": {"method": "deskew"},
    "source": {"method": "source"},
    "source, prior": {"method": "source", "prior": "patient"},
}
Job = tuple[str, str, int, str]  # block, stream, seed, rule
Scores = dict[Job, dict[str, float]]


def list_jobs() -> Iterator[Job]:
    """Seed by seed, so that an unfinished file has every stream."""
    three = ("class", "deskew", "running")
    for seed in SEEDS:
        orders = [name for name in STREAMS if name != "sorted" or seed == SEEDS[0]]  # there is one sorted order
        yield from (("five", name, seed, rule) for name in orders for rule in three)
        yield from ((block, "dirichlet-0.1", seed, rule) for block in ("ten", "batch-16") for rule in three)
        yield from (("video", "video", seed, rule) for rule in (*three, *MEMORIES))
        yield from (("batch-1", "dirichlet-0.1", seed, rule) for rule in ("class", "deskew"))
        yield from (("resnet56", "dirichlet-0.1", seed, rule) for rule in three)
    for block in ("five", "ten", "resnet56"):
        yield block, "iid", SEEDS[0], "limit"
    yield "batch-1", "dirichlet-0.1", SEEDS[0], "running"
    yield from (("five", "dirichlet-0.1", SEEDS[0], rule) for rule in ("gated", "source", "source, prior"))
    yield from (("resnet56", name, SEEDS[0], rule) for name in STREAMS for rule in three)


def make_stream(block: str, name: str, seed: int) -> Stream:
    if block == "video":
        return Stream(dataset("gtsrb"), StreamSpec.of(**VIDEO, severity=5, batch_size=32, seed=seed))
    size = {"batch-16": 16, "batch-1": 1}.get(block, 64)
    domains = TEN if block == "ten" else FIVE
    return Stream(
        dataset("cifar10-mini"),
        StreamSpec.of(**{"domains": domains, "severity": 5, "batch_size": size, "seed": seed, **STREAMS[name]}),
    )


def load_network(block: str) -> nn.Module:
    if block == "resnet56":
        net = gotta.models.load(
            "resnet56", weights=str(find("network 'resnet56'", None, "cifar10_resnet56.safetensors"))
        )
    else:
        net = gotta.models.load("resnet18-signs" if block == "video" else "resnet20")
    return net.eval().requires_grad_(False).to(memory_format=torch.channels_last)


@torch.no_grad()
def score_running(net: nn.Module, stream: Stream, rates: Sequence[float]) -> dict[str, float]:
    """All rates side by side: the forward that feeds them normalises with the batch and is the same for all."""
    feed, nets = deepcopy(net), [deepcopy(net) for _ in rates]
    right = [0] * len(rates)
    for step in stream:
        label = torch.from_numpy(step.truth.label)
        for at, moved in enumerate(nets):
            right[at] += int((moved(step.x).argmax(1) == label).sum())
        with batch_statistics(feed, 1.0):
            feed(step.x)
        for moved, rate in zip(nets, rates, strict=True):
            share = 1 - (1 - rate) ** (stream.spec.batch_size / 64)
            for layer, fed in zip(batch_norms(moved), batch_norms(feed), strict=True):
                layer.running_mean.lerp_(fed.running_mean, share)
                layer.running_var.lerp_(fed.running_var, share)
    return {str(rate): 100 * hits / stream.num_samples for rate, hits in zip(rates, right, strict=True)}


@torch.no_grad()
def score_limit(net: nn.Module, stream: Stream) -> dict[str, float]:
    """Each domain with the average statistics of its own batches; for an i.i.d. stream, whose batches are alike."""
    right = 0
    for domain in range(len(stream.domains)):
        steps = [step for step in stream if (step.truth.domain == domain).all()]
        known = deepcopy(net)
        for count, step in enumerate(steps):
            with batch_statistics(known, 1 / (count + 1)):
                known(step.x)
        right += sum(int((known(step.x).argmax(1) == torch.from_numpy(step.truth.label)).sum()) for step in steps)
    return {"accuracy": 100 * right / stream.num_samples}


def score_adapted(net: nn.Module, stream: Stream, **settings: Any) -> dict[str, float]:
    model = gotta.adapt(net, **settings)
    right = raw = 0
    for step in stream:
        prediction, label = model.step(step.x).prediction, torch.from_numpy(step.truth.label)
        right += int((prediction.label == label).sum())
        raw += int((prediction.raw.label == label).sum())
    return {"accuracy": 100 * right / stream.num_samples, "raw": 100 * raw / stream.num_samples}


def choose_rates(job: Job, done: Scores) -> Sequence[float]:
    """All of them at first; where the same stream was run before, its best rate and the two beside it."""
    block, name, _, rule = job
    before = done.get((block, name, SEEDS[0], rule)) or (
        block == "resnet56" and done.get(("five", name, SEEDS[0], rule))
    )
    return surround(max(before, key=before.__getitem__)) if before else RATES


def surround(rate: str) -> Sequence[float]:
    at = [str(known) for known in RATES].index(rate)
    return RATES[max(0, at - 1) : at + 2]


def score_best_running(net: nn.Module, stream: Stream, rates: Sequence[float]) -> dict[str, float]:
    """These rates, and more of them until those beside the best one are known."""
    scores: dict[str, float] = {}
    while rates:
        scores |= score_running(net, stream, rates)
        rates = [rate for rate in surround(max(scores, key=scores.__getitem__)) if str(rate) not in scores]
    return scores


def run_job(job: Job, done: Scores) -> dict[str, float]:
    block, name, seed, rule = job
    net, stream = load_network(block), make_stream(block, name, seed)
    if rule == "running":
        return score_best_running(net, stream, choose_rates(job, done))
    if rule == "limit":
        return score_limit(net, stream)
    settings = OURS.get(rule) or {"method": "norm", "memory": rule, "capacity": 32, "pairing": "paper"}
    with catch_warnings():
        simplefilter("ignore")  # that the stickiness is high
        return score_adapted(net, stream, **settings)


def read_lines(path: Path) -> Scores:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["block"], line["stream"], line["seed"], line["rule"]): line["scores"] for line in lines}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only these blocks or streams, by comma")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = read_lines(options.out)
    wanted = set(filter(None, options.only.split(",")))
    for job in list_jobs():
        if job in done or (wanted and not wanted & {job[0], job[1]}):
            continue
        start = process_time()
        done[job] = run_job(job, done)
        line = dict(zip(("block", "stream", "seed", "rule"), job, strict=True)) | {
            "scores": done[job],
            "seconds": round(process_time() - start),
        }
        with options.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(line, flush=True)


if __name__ == "__main__":
    main()
