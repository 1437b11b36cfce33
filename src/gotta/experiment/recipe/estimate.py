"""How long a sweep will take: counted passes times a short timing on this machine."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import nn

from gotta.core.build import build
from gotta.core.clock import forwards
from gotta.data.local.catalogue import catalogue
from gotta.errors import NoEffect
from gotta.experiment.run.loaded import data_of, model_of
from gotta.experiment.run.run import run
from gotta.experiment.spec.clean_samples import without_samples
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import MethodSpec, RegimeSpec
from gotta.heads import find_head
from gotta.memory import Memory
from gotta.models.backbone import Input
from gotta.models.vit import VisionTransformer
from gotta.models.zoo import RANDOM
from gotta.safe_text import tell_seconds
from gotta.statistics import statistics
from gotta.statistics.normalization import has_batch_norm
from gotta.streams import Stream

BUNDLED = "cifar10-mini"
START = 4.0  # seconds until a new process has imported torch
LARGE = 5_000_000  # parameters of a network that is timed on very few images
IMAGES = (  # settings of a stream that decide which images it has, in whatever order
    *("domain_order", "domains", "severity", "classes", "per_class", "limit", "clips", "frames", "choose", "redraws"),
)
PROBED = Input(8)  # of the images whose passes are counted


@dataclass(frozen=True)
class Estimate:
    """Seconds of computing, and until the end with so many processes."""

    computing: float
    processes: int

    @property
    def seconds(self) -> float:
        return self.computing / self.processes + START

    def __str__(self) -> str:
        return f"about {self.told()} (estimated from passes counted and a short timing of the network here)"

    def told(self) -> str:
        return f"{tell_seconds(self.seconds)} in {self.processes} process{'' if self.processes == 1 else 'es'}"


@dataclass(frozen=True)
class Count:
    """How much is to be computed, for where cells run on machines that cannot be timed from here."""

    forwards: float  # of one image; a backward is two

    def __str__(self) -> str:
        return f"{self.forwards:,.0f} forwards of one image, a backward being two (not timed: cells run elsewhere)"


@dataclass(frozen=True)
class Pace:
    """Seconds for one sample of a stream: read anew, and in a loop that only predicts; and for its forward alone."""

    first_read: float
    looped: float
    forward: float


def estimate(todo: Sequence[RunSpec], processes: int, device: str = "cpu") -> Estimate:
    """The time for these runs."""
    computing = sum(_seconds(spec, device) for spec in todo)
    # Each process reads what it needs once; small data sets remember what they corrupted.
    reading = {_images(spec): _samples(spec) * _pace(spec, device).first_read for spec in todo}
    return Estimate(computing + processes * sum(reading.values()), processes)


def estimate_unseen(todo: Sequence[RunSpec], processes: int, device: str = "cpu") -> Estimate | None:
    """The time for runs whose data or weights are not here: timed on bundled images, with random weights.

    None where it is not known how many images there are, or their size is another.
    """
    total = 0.0
    for spec in todo:
        known = catalogue().get(spec.data.name)
        if not (known and known.images) or spec.stream["per_class"] or spec.stream["limit"]:
            return None
        given = {**spec.model_dump(), "data": {"name": BUNDLED}, "model": {"name": spec.model.name, "weights": RANDOM}}
        bundled = RunSpec.of(given)
        total += _seconds(bundled, device) * known.images / len(data_of(bundled).labels)
    return Estimate(total, processes)


def count(todo: Sequence[RunSpec]) -> Count:
    """What these runs compute. No network is run for it, and no device is needed."""
    return Count(sum(_samples(spec) * _passes(spec) for spec in todo))


def _passes(spec: RunSpec) -> float:
    return count_passes(spec, data_of(spec).num_classes, has_batch_norm(model_of(spec)))


def _seconds(spec: RunSpec, device: str) -> float:
    pace = _pace(spec, device)
    return _samples(spec) * (pace.looped + max(0.0, _passes(spec) - 1) * pace.forward)


def count_passes(spec: RunSpec, num_classes: int, batch_norm: bool) -> float:
    """Forwards for each sample of the stream, a backward being two: the most that a sure and an unsure network need."""
    capacity = spec.memory.capacity if spec.has_memory else None
    known = spec.method, spec.regime, capacity, num_classes, batch_norm
    try:
        passes = max(_probe(*known, sure) for sure in (False, True))
    except NoEffect:  # it runs as the source model
        return 1.0
    every = spec.memory.refresh_every
    if every and spec.regime.adapt_every and capacity:
        passes += capacity / (every * spec.regime.adapt_every)
    return passes


@cache
def _probe(
    method: MethodSpec, regime: RegimeSpec, capacity: int | None, num_classes: int, batch_norm: bool, sure: bool
) -> float:
    """Steps on noise with a network of three layers, whose passes are as many as those of any other."""
    given = method.model_dump(include={"fed_by", "rate"}, exclude_none=True)
    size, every = regime.batch_size or 1, regime.adapt_every
    generator = torch.Generator().manual_seed(0)
    adapted = build(
        _dummy(num_classes, batch_norm, sure),
        method.name,
        # Every memory is taken to be full, as fifo soon is.
        Memory("none" if capacity is None else "fifo", capacity, num_classes),
        statistics.build(method.statistics or "source", **given),
        every,
        regime.score,
        **without_samples(method),
    )
    batches = 1 + -(-max(capacity or 0, every or 0) // size)
    images = (torch.rand(size, 3, PROBED.size, PROBED.size, generator=generator) for _ in range(batches))
    return max(forwards(adapted.step(x).cost, size) for x in images)


def _dummy(num_classes: int, batch_norm: bool, sure: bool) -> nn.Module:
    """A network with BatchNorm, or a transformer; the same every time, without touching randomness elsewhere."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()
        plain = nn.Sequential(*layers, nn.Linear(4, num_classes))
        net = plain if batch_norm else VisionTransformer(8, 8, 1, 1, 1.0, num_classes, PROBED)
    head = find_head(net)
    assert head is not None
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.mul_(1e4 if sure else 1e-4)
    return net


def _pace(spec: RunSpec, device: str) -> Pace:
    """In whichever order images come, they take the same time."""
    stream = {name: spec.stream[name] for name in IMAGES} | {"order": "iid"}
    return _time_run(json.dumps({**spec.model_dump(include={"data", "model"}), "stream": stream}), device)


@cache
def _time_run(setup: str, device: str) -> Pace:
    """A run on a few images that only predicts, twice: the second finds its images read and its network warm."""
    given = json.loads(setup)
    spec = RunSpec.of(given)
    domains = Stream(data_of(spec), spec.stream_spec()).domains
    large = sum(parameter.numel() for parameter in model_of(spec).parameters()) > LARGE
    size = 8 if large else 64
    is_video = getattr(data_of(spec), "clips", None) is not None
    few = {
        "schedule": "continual",
        "repeats": 1,
        "domains": list(dict.fromkeys(domains[k] for k in (0, len(domains) // 2, -1))),
        "per_class": None,
        **({"clips": 2, "limit": None} if is_video else {"clips": None, "limit": size}),
    }
    tiny = RunSpec.of({**given, "stream": {**spec.stream, **few}, "regime": {"batch_size": size}})
    (_, cold), (_, warm) = run(tiny, device=device), run(tiny, device=device)
    samples = warm["online"]["samples"]
    first_read = max(0.0, cold["seconds"] - warm["seconds"]) / samples
    return Pace(first_read, warm["seconds"] / samples, warm["cost"]["predict"]["seconds"] / samples)


@cache
def _count(data: str, stream: str) -> int:
    spec = RunSpec.of({"data": json.loads(data), "stream": json.loads(stream)})
    return Stream(data_of(spec), spec.stream_spec()).num_samples


def _samples(spec: RunSpec) -> int:
    return _count(spec.data.model_dump_json(), json.dumps(spec.stream))


def _images(spec: RunSpec) -> str:
    """Runs with equal images, in whatever order."""
    return json.dumps([spec.data.model_dump(), {name: spec.stream[name] for name in IMAGES}])
