"""The clock that a spec asks for. Measured costs are kept in a file, so that a rerun gives the same numbers."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch

from gotta.core.adapted import Adapted
from gotta.core.clock import Analytic, Clock, Measured
from gotta.core.loop import evaluate
from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.files import write_atomically
from gotta.json_yaml import read_json
from gotta.models import Backbone
from gotta.streams import Stream

REHEARSAL = 12  # steps, so that a refresh every 10 adaptations is among them; the first warms up
FORWARDS = 7


def recording(root: Path, spec: RunSpec) -> Path:
    """Where a store keeps the measured cost of a cell. It outlives the run's folder; delete it to measure again."""
    return root / "clocks" / f"{spec.id}.json"


def latency(steps: Sequence[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """p50 and p99 in seconds: until a batch has its answer, and until its step is over.

    The first step warms up, so it does not count unless it is the only one.

    >>> latency([{"cost": {"predict": {"seconds": 0.5}, "adapt": {"seconds": 1.5}}}])
    {'answer': (0.5, 0.5), 'step': (2.0, 2.0)}
    """
    spent = [{name: phase["seconds"] for name, phase in step["cost"].items()} for step in steps[1:] or steps]
    times = {
        "answer": [phases.get("predict", 0.0) for phases in spent],
        "step": [sum(phases.values()) for phases in spent],
    }
    return {name: (_percentile(values, 50), _percentile(values, 99)) for name, values in times.items()}


def _percentile(values: Sequence[float], percent: int) -> float:
    """The smallest value that at least so many percent of them do not exceed."""
    return sorted(values)[max(0, -(-len(values) * percent // 100) - 1)]


def make_clock(spec: RunSpec, record: Path | None, measure: Callable[[], dict[str, float]]) -> Clock:
    """The clock of a run. `measure` is called only if the clock is `measured` and nothing is recorded yet."""
    if spec.regime.clock == "none":
        return Clock()
    assert spec.regime.pace is not None
    if spec.regime.clock == "analytic":
        return Analytic(spec.regime.pace)
    if record is not None and record.exists():
        return Measured(spec.regime.pace, **_read(record))
    costs = measure()
    if record is not None:
        write_atomically(record, json.dumps(costs, indent=2).encode())
    return Measured(spec.regime.pace, **costs)


def measure_costs(
    model: Backbone, rehearsed: Callable[[], Adapted], stream: Stream, reset: str, device: str
) -> dict[str, float]:
    """Seconds of a step and of a batch's forward, here and now: `rehearsed` builds a model to try some steps with."""
    forward = forward_seconds(model, stream.step(0).x.to(device))
    adapted = rehearsed()
    if adapted.method.stands_still and not adapted.memory.lasts:
        return {"step": forward, "forward": forward}  # it only predicts, and two measurements would differ
    spent = []
    for record in evaluate(adapted, stream, reset):
        spent.append(sum(phase["seconds"] for phase in record.outcome.cost.values()))
        if len(spent) > REHEARSAL:
            break
    steady = spent[1:] or spent
    return {"step": sum(steady) / len(steady), "forward": forward}


@torch.inference_mode()
def forward_seconds(model: Backbone, x: torch.Tensor, times: int = FORWARDS) -> float:
    """The usual time of one forward of this batch."""
    spent = []
    for _ in range(times):
        started = perf_counter()
        model(x)
        if x.is_cuda:
            torch.cuda.synchronize()
        spent.append(perf_counter() - started)
    return median(spent[1:] or spent)


def _read(path: Path) -> dict[str, float]:
    try:
        content: Any = read_json(path)
        costs = {name: float(content[name]) for name in ("step", "forward")}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise GottaError(
            f"the measured cost in '{path}' cannot be read: {error}. Delete it to measure again."
        ) from None
    if not all(value > 0 for value in costs.values()):
        raise GottaError(f"the measured cost in '{path}' is not above 0. Delete it to measure again.")
    return costs
