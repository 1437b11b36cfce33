"""What the page shows of one run, as plain values."""

from collections.abc import Iterable
from typing import Any

from gotta.metrics.measures import MEASURES
from gotta.report.panel import Panel
from gotta.report.series import BINS, series
from gotta.report.stored_run import Run

WINDOW = 6
POINTS = 30_000  # values of all runs of a page together, so that a large sweep stays a small page
COST = ("predict", "observe", "adapt", "refresh")


def run_facts(panel: Panel) -> dict[str, dict[str, Any]]:
    """By id."""
    bins = max(24, min(BINS, POINTS // max(1, len(panel.runs))))
    labels = {run.id: f"{entry.name}, seed {run.seed}" for entry in panel.entries for run in entry.runs}
    return {run.id: {"label": labels[run.id], **_facts(run, bins)} for run in panel.runs}


def curves() -> dict[str, dict[str, Any]]:
    """How the measures of a memory are drawn over the stream: the title, and the limits where there are some."""
    return {
        name: {"title": measure.curve, **({"limits": [0, 1]} if measure.is_share else {})}
        for name, measure in MEASURES.items()
        if measure.curve
    }


def _facts(run: Run, bins: int) -> dict[str, Any]:
    line = series(run, bins)
    seconds = {name: run.numbers.get(f"cost.{name}.seconds") for name in COST}
    return {
        "seed": run.seed,
        **{name: run.numbers.get(name) for name in ("accuracy", "error", "seconds")},
        "settings": [[name, _text(value)] for name, value in _settings(run).items()],
        "domains": [[name, round(value, 2)] for name, value in run.scores().items()],
        "steps": line.steps,
        "at": list(line.at),
        "over": [round(value, 1) for value in line.accuracy(WINDOW)],
        "state": {name: _round(values) for name, values in line.state.items()},
        "visits": [[visit.name, visit.start, visit.end] for visit in line.visits],
        "decisions": {reason: count for reason, count in run.summary.decisions.items() if count},
        "cost": {name: round(value, 2) for name, value in seconds.items() if value is not None},
        "made": {name: _text(value) for name, value in run.environment.items() if value is not None},
    }


def _settings(run: Run) -> dict[str, Any]:
    found = {"id": run.id, **run.settings}
    return {name: value for name, value in found.items() if value not in (None, {}, [])}


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _round(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.3g}") for value in values]
