"""Results that can be trusted: a drawn sample of kept runs is run again and compared.

No checksum can tell a forged line from a true one. Running it again can.
"""

import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from random import Random
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.recipe.missing import missing
from gotta.experiment.run.environment import environment
from gotta.experiment.run.run import run as run_again
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import find_user_parts
from gotta.experiment.sweep.kept import Runs
from gotta.experiment.sweep.store import Run
from gotta.experiment.sweep.verified import NEAR, OTHER, SAME, Verified, checksum_of
from gotta.json_yaml import plain

MACHINE = ("cpu", "platform", "torch", "torch_threads", "cuda")  # where these are the same, so are all bits
DEVIATIONS = 3.0  # standard deviations of an accuracy that another processor or torch may move it by


def verify(runs: Runs, sample: int = 3, seconds: float = math.inf, seed: int | None = None) -> Iterator[Verified]:
    """Run a sample of kept runs again that this machine has everything for and that took at most `seconds` each."""
    fit = find_repeatable(runs, seconds)
    if not fit:
        raise GottaError(
            f"no run in '{runs.root}' can be run again here: data or weights are missing, or {seconds:g} s are too few."
        )
    for run in Random(seed).sample(fit, min(sample, len(fit))):
        yield repeat(run)


def find_repeatable(runs: Runs, seconds: float = math.inf) -> list[Run]:
    """The runs of gotta's own parts whose data and weights are here."""
    whole = [run for _, run in runs.scan() if isinstance(run, Run)]
    return [run for run in whole if run.summary.get("seconds", 0.0) <= seconds and _is_repeatable(run)]


def _is_repeatable(run: Run) -> bool:
    try:
        spec = RunSpec.of(run.spec)
        return not find_user_parts(run.spec) and spec.id == run.id and not missing([spec])
    except GottaError:  # of another version
        return False


def repeat(run: Run) -> Verified:
    """Run it again, and compare."""
    summary = plain(run_again(RunSpec.of(run.spec))[1])
    here = environment()
    alike = all(here.get(name) == run.environment.get(name) for name in MACHINE)
    outcome, difference = compare(run.summary, summary, alike)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return Verified(run.id, checksum_of(run), outcome, difference, when, here["commit"], here["cpu"], here["torch"])


def compare(before: Mapping[str, Any], now: Mapping[str, Any], alike: bool) -> tuple[str, float]:
    """How two summaries compare, and the largest difference between their domains in points.

    Where machines are `alike` every number must be the same; else each domain may move as far as its samples let it.
    """
    told, found = before["online"], now["online"]
    pairs = list(zip(told["domains"], found["domains"], strict=False))
    gaps = [abs(one["accuracy"] - other["accuracy"]) for one, other in pairs]
    difference = max(gaps, default=0.0)
    if all(found.get(name) == value for name, value in told.items()) and before["accuracy"] == now["accuracy"]:
        return SAME, difference
    if alike or not _same_stream(before, now):
        return OTHER, difference
    near = all(gap <= tolerance(one["accuracy"], one["samples"]) for gap, (one, _) in zip(gaps, pairs, strict=True))
    return (NEAR if near and abs(before["accuracy"] - now["accuracy"]) <= difference + 1e-6 else OTHER), difference


def tolerance(accuracy: float, samples: int) -> float:
    """Points by which the accuracy on so many samples may differ, at least one sample."""
    share = min(max(accuracy / 100, 0.0), 1.0)
    return 100 * max(DEVIATIONS * math.sqrt(share * (1 - share) / samples), 1 / samples)


def _same_stream(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    names = [[(domain["name"], domain["samples"]) for domain in one["online"]["domains"]] for one in (before, now)]
    return names[0] == names[1] and before["stream"]["order_hash"] == now["stream"]["order_hash"]
