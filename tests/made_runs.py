"""Finished runs made by hand, for tests of what reads them."""

from copy import deepcopy
from dataclasses import asdict

from gotta.experiment.spec.identity import FORMAT
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import FROM_ELSEWHERE
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.experiment.sweep.store import Store
from gotta.report.panel import place
from gotta.report.stored_run import Run
from gotta.streams import StreamSpec

DOMAINS = ("fog-5", "snow-5", "frost-5", "glass_blur-5")
STREAM = {name: value for name, value in asdict(StreamSpec()).items() if name not in FROM_ELSEWHERE}


def made(
    memory="fps",
    method="norm",
    scores=(50.0, 52.0, 54.0, 56.0),
    seed=0,
    control=None,
    stream_hash=None,
    summary=None,
    **changes,
):
    """A run with these accuracies in its domains. `changes` are dotted settings with __ for the dot."""
    spec = {
        "data": {"name": "cifar10-mini"},
        "stream": STREAM.copy(),
        "model": {"name": "resnet20"},
        "memory": {"name": memory, "capacity": 32},
        "method": {"name": method},
        "regime": {"batch_size": 32, "adapt_every": 32, "score": "before"},
        "control": control,
        "seed": seed,
    }
    for path, value in changes.items():
        *sections, name = path.split("__")
        place = spec
        for section in sections:
            place = place.setdefault(section, {})
        place |= value if name == "arguments" else {name: value}
    return Run.of(
        StoredRun(
            _id(method, control or memory, seed, *changes.values()),
            RunSpec.model_validate(spec).model_dump(mode="json"),
            _summary(scores, seed, stream_hash) | (summary or {}),
            {"python": "3.11.7"},
            identity={"format": FORMAT, "settings": deepcopy(spec), "parts": {}},
        )
    )


def panel_of(runs):
    """The runs in one panel, whatever they differ in."""
    return place(runs).whole


def stored(root, runs, steps=lambda run: ()):
    """A store with these runs and their steps."""
    store = Store(root)
    for run in runs:
        store.write(run.stored, steps(run))
    return store


def domains_of(scores, names=DOMAINS):
    """As the summary of a run has them."""
    return [
        {"name": name, "samples": 250, "accuracy": score, "error": 100 - score}
        for name, score in zip(names, scores, strict=False)
    ]


def _summary(scores, seed, stream_hash):
    mean = sum(scores) / len(scores)
    return {
        "accuracy": mean,
        "error": 100 - mean,
        "seconds": 2.0,
        "online": {"accuracy": mean, "domains": domains_of(scores)},
        "cost": {"total": {"seconds": 1.5, "forwards": 3}, "peak_mb": 100.0},
        "stream": {"hash": f"cut {seed}", "order_hash": stream_hash or f"order {seed}"},
    }


def _id(*parts):
    return "".join(c if c.isalnum() or c in "._+=-" else "_" for c in "-".join(map(str, parts)))
