"""Runs of a protocol made by hand: two methods with memories, controls, a prior, three seeds."""

from made_runs import made

LEVELS = {"fifo": 60, "fps": 63}
ALONE = {"memory__capacity": None, "regime__batch_size": 64, "regime__adapt_every": None}
COST = {"cost": {"total": {"seconds": 3.0, "samples": 2000}}}


def ranked_runs(seeds=(0, 1, 2)):
    for seed in seeds:
        yield made("none", "source", (30, 31, 32, 33 + seed), seed, **ALONE)
        yield made("none", "deskew", (70, 71, 72, 73 + seed), seed, **ALONE, method__prior="sticky")
        for shift, method in enumerate(("norm", "tent")):
            for name, level in LEVELS.items():
                scores = [level + 2 * shift + k + seed / 10 for k in range(4)]
                yield made(name, method, scores, seed, summary=COST)
            for control in ("running_statistics", "same_samples"):
                scores = (58 + shift, 59, 60, 61 + seed)
                yield made("none", method, scores, seed, control=control, regime__adapt_every=None)
