"""What the guard is worth: 24 streams of 10,000 samples, the source, the method alone and the method with `guard`.

    python benchmarks/guard.py [--guard freeze] [--only NAME] [--out benchmarks/guard.jsonl]

The streams differ in order, corruptions, method and batch size; the guard's constants were tuned on the first twelve
only. The images are the 2,000 bundled ones, each shown five times or more. A stream's result is a line of `--out` and
is not computed again; docs/results/guard.md is made from these lines. Where the guard stays silent its model is the
method's own, bit for bit, so that one run serves both columns. The pairing is the paper's: predictions with the
statistics of the batch are what can do harm.
"""

import argparse
import json
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import gotta
from gotta.data import dataset
from gotta.models import load
from gotta.streams.order import ORDERS
from gotta.types import IntArray, torch_images

SAMPLES = 10_000
IMAGES = dataset("cifar10-mini")
CLOSE, HEALTHY_LOSS = 3.0, 0.5  # points below the better of source and unguarded, and below a healthy unguarded one


@dataclass(frozen=True)
class Case:
    """One stream and the method that meets it. With `every` the corruptions alternate, else each has its equal part."""

    order: str
    corruptions: str
    batch: int
    method: str
    every: int | None = None
    classes: tuple[int, ...] | None = None
    memory: str = "none"
    hyper: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        order = self.order + ("" if self.classes is None else f" of classes {', '.join(map(str, self.classes))}")
        shown = self.corruptions.replace("_", " ").replace(",", ", ")
        return f"{order}; {shown}" + ("" if self.every is None else f", alternating every {self.every}")

    @property
    def name(self) -> str:
        return f"{self.method}" + ("" if self.memory == "none" else f" + {self.memory}") + self.settings

    @property
    def settings(self) -> str:
        return "".join(f", {key} {value}" for key, value in self.hyper.items())


TUNED = {
    "two-domains": Case("iid", "impulse_noise-5,contrast-5", 32, "tent", every=32),
    "cat-and-dog": Case("turns", "snow-5,jpeg_compression-5,frost-5", 64, "tent", classes=(3, 5)),
    "lr-x50": Case("iid", "gaussian_noise-1", 64, "tent", hyper={"lr": 0.05}),
    "noise-and-blur": Case("iid", "gaussian_noise-5,shot_noise-5,defocus_blur-5,glass_blur-5,pixelate-5", 200, "tent"),
    "noise-and-clean": Case("iid", "impulse_noise-5,clean", 64, "tent", every=1000),
    "runs-of-weather": Case(
        "dirichlet", "brightness-5,jpeg_compression-5,elastic_transform-5,snow-5,fog-5", 16, "tent"
    ),
    "sorted-blur": Case("lame", "zoom_blur-5,motion_blur-5,defocus_blur-5", 64, "norm"),
    "blur-every-500": Case("iid", "motion_blur-5,zoom_blur-5", 128, "eta", every=500),
    "runs-of-noise": Case("dirichlet", "gaussian_noise-5,impulse_noise-5,contrast-5", 200, "norm"),
    "rotta-in-runs": Case("dirichlet", "frost-5,pixelate-5,shot_noise-5", 64, "rotta", memory="cstu"),
    "car-and-truck": Case("turns", "elastic_transform-5,defocus_blur-5,fog-5", 64, "tent", classes=(1, 9)),
    "four-classes": Case("iid", "contrast-5,frost-5", 32, "norm", classes=(1, 2, 8, 9)),
}
UNTUNED = {
    "two-others": Case("iid", "shot_noise-5,brightness-5", 32, "tent", every=32),
    "deer-and-horse": Case("turns", "motion_blur-5,brightness-5,snow-5", 64, "norm", classes=(4, 7)),
    "lr-x30": Case("iid", "jpeg_compression-3", 64, "tent", hyper={"lr": 0.03}),
    "contrast-and-noise": Case("iid", "contrast-5,impulse_noise-5,speckle_noise-5", 200, "norm"),
    "mild": Case("iid", "motion_blur-2,saturate-3,spatter-3", 32, "eta"),
    "runs-of-blur": Case("dirichlet", "motion_blur-5,zoom_blur-5,brightness-5,spatter-5", 32, "tent"),
    "sorted-weather": Case("lame", "snow-5,fog-5,saturate-5", 128, "norm"),
    "small-runs": Case("dirichlet", "glass_blur-5,elastic_transform-5", 16, "norm"),
    "note-in-runs": Case("dirichlet", "gaussian_blur-5,contrast-5,impulse_noise-5", 64, "note", memory="pbrs"),
    "pseudo-labels-mild": Case("iid", "frost-3,pixelate-4", 64, "pl"),
    "three-classes": Case("iid", "brightness-5,jpeg_compression-4,frost-4", 64, "norm", classes=(0, 4, 7)),
    "all-noise": Case("iid", "gaussian_noise-5,shot_noise-5,impulse_noise-5", 128, "norm"),
}
CASES = TUNED | UNTUNED
TABLES = {"tuned on": TUNED, "not tuned on": UNTUNED}


def rows_of(case: Case) -> IntArray:
    """The images in stream order: as many rounds through all of them as are needed."""
    rng = np.random.RandomState(sorted(CASES).index(next(name for name, other in CASES.items() if other is case)))
    rows = (
        np.arange(len(IMAGES.labels)) if case.classes is None else np.flatnonzero(np.isin(IMAGES.labels, case.classes))
    )
    rounds: list[IntArray] = []
    while sum(map(len, rounds)) < SAMPLES:
        rounds.append(rows[ordered(case.order, IMAGES.labels[rows], rng)])
    return np.concatenate(rounds)[:SAMPLES]


def ordered(order: str, labels: IntArray, rng: np.random.RandomState) -> IntArray:
    if order == "turns":  # one of each class, and again
        return np.stack([rng.permutation(np.flatnonzero(labels == c)) for c in np.unique(labels)], 1).reshape(-1)
    settings: dict[str, Any] = {"gamma": 0.1, "num_classes": IMAGES.num_classes} if order == "dirichlet" else {}
    found: IntArray = ORDERS.get(order)(labels=labels, rng=rng, **settings)
    return found


def domains_of(case: Case) -> list[str]:
    names = case.corruptions.split(",")
    if case.every is None:
        return [names[k * len(names) // SAMPLES] for k in range(SAMPLES)]
    return [names[k // case.every % len(names)] for k in range(SAMPLES)]


def batches(case: Case) -> Iterator[tuple[Tensor, IntArray]]:
    """Pixels and labels, batch by batch."""
    rows, domains = rows_of(case), np.array(domains_of(case))
    for start in range(0, SAMPLES, case.batch):
        at = slice(start, start + case.batch)
        x = torch.empty(len(rows[at]), 3, 32, 32).to(memory_format=torch.channels_last)
        for domain in dict.fromkeys(domains[at].tolist()):
            here = domains[at] == domain
            x[torch.from_numpy(here)] = torch_images(IMAGES.images(domain, rows[at][here]))
        yield x, IMAGES.labels[rows[at]]


def network() -> torch.nn.Module:
    return load("resnet20").to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


@cache
def source_hits(domain: str) -> IntArray:
    """For each image whether the source model is right."""
    images, net = IMAGES.images(domain, np.arange(len(IMAGES.labels))), network()
    with torch.inference_mode():
        found = [net(torch_images(images[k : k + 100])).argmax(1).numpy() for k in range(0, len(images), 100)]
    return np.concatenate(found) == IMAGES.labels


def source_accuracy(case: Case) -> float:
    return 100 * float(
        np.mean([source_hits(domain)[row] for domain, row in zip(domains_of(case), rows_of(case), strict=True)])
    )


def follow(case: Case, guard: str | None) -> dict[str, float]:
    """Accuracy in percent, how often the guard raised an alarm and first when, and its forwards per sample."""
    memory = {} if case.memory == "none" else {"memory": case.memory, "capacity": 64}
    model = gotta.adapt(network(), case.method, **memory, num_classes=10, pairing="paper", guard=guard, **case.hyper)
    hits, first = 0, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k, (x, labels) in enumerate(batches(case)):
            hits += int((model(x).argmax(1).numpy() == labels).sum())
            if model.guard is not None and model.guard.episodes and not first:
                first = k * case.batch + len(x)
    found = {"accuracy": 100 * hits / SAMPLES}
    if model.guard is None:
        return found
    spent = model.guard.source.cost.summary()["guard"]["samples"]
    return found | {"alarms": model.guard.episodes, "first": first, "cost": spent / SAMPLES}


def result(name: str, guard: str, out: Path) -> dict[str, Any]:
    """The numbers of one stream."""
    case = CASES[name]
    guarded = kept(out, name, guard, lambda: follow(case, guard))
    bare = kept(out, name, "none", lambda: follow(case, None)) if guarded["alarms"] else guarded
    source = kept(out, name, "source", lambda: {"accuracy": source_accuracy(case)})
    return {**guarded, "unguarded": bare["accuracy"], "source": source["accuracy"]}


def kept(path: Path, stream: str, guard: str, compute: Callable[[], dict[str, float]]) -> dict[str, Any]:
    """The line of this stream in the file, or what is computed and then written to it."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    found = next((line for line in lines if (line["stream"], line["guard"]) == (stream, guard)), None)
    if found is None:
        found = {"stream": stream, "guard": guard, **compute()}
        with path.open("a", encoding="utf-8") as file:
            print(json.dumps(found), file=file)
    return dict(found)


def tell(title: str, cases: dict[str, Case], guard: str, out: Path, only: str = "") -> str:
    """A table and what it comes to; nothing where none of its streams is asked for."""
    results = {name: result(name, guard, out) for name in cases if not only or name in only.split(",")}
    return f"Streams {title}:\n\n{table(results)}\n\n{promises(results)}" if results else ""


def table(results: dict[str, dict[str, Any]]) -> str:
    """Markdown: a row for each stream, and how often the guard kept its promises."""
    columns = ("stream", "method", "batch", "source", "unguarded", "guarded", "below the better", "alarms", "forwards")
    rows = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name, found in results.items():
        case = CASES[name]
        alarms = f"{found['alarms']}, first after {found['first']}" if found["alarms"] else "none"
        rows.append(
            f"| {case} | {case.name} | {case.batch} | {found['source']:.1f} | {found['unguarded']:.1f} "
            f"| {found['accuracy']:.1f} | {below(found):.1f} | {alarms} | {found['cost']:.2f} |"
        )
    return "\n".join(rows)


def below(found: dict[str, Any]) -> float:
    return float(max(found["source"], found["unguarded"]) - found["accuracy"])


def promises(results: dict[str, dict[str, Any]]) -> str:
    close = sum(below(found) <= CLOSE for found in results.values())
    healthy = [found for found in results.values() if found["unguarded"] >= found["source"]]
    kept = sum(found["unguarded"] - found["accuracy"] <= HEALTHY_LOSS for found in healthy)
    return (
        f"Within {CLOSE:g} points of the better: {close} of {len(results)}. "
        f"At most {HEALTHY_LOSS:g} lost where adapting does no harm: {kept} of {len(healthy)}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--guard", default="freeze", choices=("freeze", "rollback"))
    parser.add_argument("--only", default="", help="names of streams, with commas")
    parser.add_argument("--out", type=Path, default=Path("guard.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    for title, cases in TABLES.items():
        print(tell(title, cases, options.guard, options.out, options.only), flush=True)


if __name__ == "__main__":
    main()
