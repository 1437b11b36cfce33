"""Results that can be trusted: a drawn sample of kept runs is run again and compared.

No checksum can tell a forged line from a true one. Running it again can.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.recipe.missing import missing
from gotta.experiment.run.environment import environment
from gotta.experiment.run.run import run as run_again
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import find_user_parts
from gotta.experiment.sweep.kept import NEAR, OTHER, SAME, Runs, Verified, checksum_of
from gotta.experiment.sweep.store import Run
from gotta.json_yaml import plain

MACHINE = ("cpu", "platform", "torch", "torch_threads", "cuda")  # where these are the same, so are all bits
UNLIKE = ("seconds", "cpu_seconds", "peak_mb", "gotta")  # what differs from run to run, or with the version
DEVIATIONS = 3.0  # standard deviations of an accuracy that another processor or torch may move it by


def verify(runs: Runs, sample: int = 3, seconds: float = math.inf, seed: int | None = None) -> Iterator[Verified]:
    """Run a sample of kept runs again that this machine has everything for and that took at most `seconds` each."""
    fit = [run for _, run in runs.scan() if isinstance(run, Run) and not why_left_out(run, seconds)]
    if not fit:
        why = tell_left_out(runs, seconds) or "it is empty"
        raise GottaError(f"no run in '{runs.root}' can be run again here: {why}.")
    for run in Random(seed).sample(fit, min(sample, len(fit))):
        yield repeat(run)


def tell_left_out(runs: Runs, seconds: float = math.inf) -> str:
    """How many runs are never drawn, by reason: whoever forges a line may also see to it that it is one of them."""
    reasons = Counter(why_left_out(run, seconds) for _, run in runs.scan())
    return ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if reason)


def why_left_out(run: Run | str, seconds: float) -> str:
    """Why a run cannot be drawn; nothing if it can be."""
    if isinstance(run, str):
        return "damaged"
    took = run.summary.get("seconds", 0.0)
    if not isinstance(took, int | float) or not took <= seconds:
        return f"not known to take at most {seconds:g} s"
    try:
        spec = RunSpec.of(run.spec)
        if not find_user_parts(run.spec) and spec.id == run.id:
            return "without data or weights here" if missing([spec]) else ""
    except GottaError:
        pass
    return "of other code"


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
    with suppress(ArithmeticError, AttributeError, LookupError, TypeError):  # nothing that a run writes
        pairs = list(zip(before["online"]["domains"], now["online"]["domains"], strict=False))
        gaps = [abs(one["accuracy"] - other["accuracy"]) for one, other in pairs]
        difference = max(gaps, default=0.0)
        if all(_repeats(before.get(name)) == _repeats(value) for name, value in now.items() if name not in UNLIKE):
            return SAME, difference
        if alike or not _same_stream(before, now):
            return OTHER, difference
        allowed = [tolerance(one["accuracy"], one["samples"]) for one, _ in pairs]
        near = all(gap <= most for gap, most in zip(gaps, allowed, strict=True))
        near = near and abs(before["accuracy"] - now["accuracy"]) <= difference + 1e-6
        return NEAR if near else OTHER, difference
    return OTHER, 100.0


def _repeats(value: Any) -> Any:
    """What of it must be the same again."""
    if isinstance(value, Mapping):
        return {name: _repeats(part) for name, part in value.items() if name not in UNLIKE}
    return value


def tolerance(accuracy: float, samples: int) -> float:
    """Points by which the accuracy on so many samples may differ, at least one sample."""
    share = min(max(accuracy / 100, 0.0), 1.0)
    return 100 * max(DEVIATIONS * math.sqrt(share * (1 - share) / samples), 1 / samples)


def _same_stream(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    names = [[(domain["name"], domain["samples"]) for domain in one["online"]["domains"]] for one in (before, now)]
    return names[0] == names[1] and before["stream"]["order_hash"] == now["stream"]["order_hash"]
