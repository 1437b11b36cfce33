"""Finished runs made by hand, for tests of what reads them."""

from gotta.experiment.sweep.store import Run, Store

DOMAINS = ("fog-5", "snow-5", "frost-5", "glass_blur-5")


def made(
    memory="fps", method="norm", scores=(50.0, 52.0, 54.0, 56.0), seed=0, control=None, stream_hash=None, **changes
):
    """A run with these accuracies in its domains. `changes` are dotted settings with __ for the dot."""
    spec = {
        "data": {"name": "cifar10-mini"},
        "stream": {
            "order": "dirichlet",
            "gamma": 0.1,
            "schedule": "continual",
            "severity": 5,
            "domain_order": "standard",
        },
        "model": {"name": "resnet20"},
        "memory": {"name": memory, "capacity": 32, "refresh_every": None, "arguments": {}},
        "method": {"name": method, "embedding": "probs", "arguments": {}},
        "regime": {"name": "steps_of_M", "batch_size": 32, "adapt_every": 32, "reset": "never", "score": "before"},
        "pairing": "paper",
        "control": control,
        "seed": seed,
    }
    for path, value in changes.items():
        *sections, name = path.split("__")
        place = spec
        for section in sections:
            place = place[section]
        place[name] = value
    domains = [
        {"name": name, "samples": 250, "accuracy": score, "error": 100 - score}
        for name, score in zip(DOMAINS, scores, strict=False)
    ]
    mean = sum(scores) / len(scores)
    summary = {
        "accuracy": mean,
        "error": 100 - mean,
        "seconds": 2.0,
        "online": {"accuracy": mean, "domains": domains},
        "cost": {"total": {"seconds": 1.5, "forwards": 3}, "peak_mb": 100.0},
        "stream": {"hash": f"cut {seed}", "order_hash": stream_hash or f"order {seed}"},
    }
    name = "-".join(map(str, (method, control or memory, seed, *changes.values())))
    return Run("".join(c if c.isalnum() or c in "._+=-" else "_" for c in name), spec, summary, {"python": "3.11.7"})


def stored(root, runs):
    """A store with these runs."""
    store = Store(root)
    for run in runs:
        store.write(run.id, spec=run.spec, steps=[], summary=run.summary, environment=run.environment)
    return store
