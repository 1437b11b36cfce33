"""What the page shows of one run, as plain values."""

from collections.abc import Iterable
from typing import Any

from gotta.experiment.sweep.store import Run
from gotta.report.page.series import BINS, series
from gotta.report.pairs import scores
from gotta.report.places import flat, places

WINDOW = 6
POINTS = 30_000  # values of all runs of a page together, so that a large sweep stays a small page
SHOWN_STATE = ("purity", "balance", "coverage", "near_duplicates")
COST = ("predict", "observe", "adapt", "refresh")


def run_facts(runs: Iterable[Run]) -> dict[str, dict[str, Any]]:
    """By id."""
    listed = list(runs)
    bins = max(24, min(BINS, POINTS // max(1, len(listed))))
    return {
        run.id: _facts(run, place.row, place.column, bins) for run, place in zip(listed, places(listed), strict=True)
    }


def _facts(run: Run, row: str, column: str, bins: int) -> dict[str, Any]:
    line = series(run, bins)
    summary, seed = run.summary, run.spec.get("seed", 0)
    cost = summary.get("cost") or {}
    return {
        "label": f"{column} + {row}, seed {seed}",
        "seed": seed,
        "accuracy": summary.get("accuracy"),
        "error": summary.get("error"),
        "seconds": summary.get("seconds"),
        "settings": [[name, _text(value)] for name, value in _settings(run).items()],
        "domains": [[name, round(value, 2)] for name, value in scores(run).items()],
        "steps": line.steps,
        "at": list(line.at),
        "over": [round(value, 1) for value in line.accuracy(WINDOW)],
        "state": {name: _rounded(line.state[name]) for name in SHOWN_STATE if name in line.state},
        "visits": [[visit.name, visit.start, visit.end] for visit in line.visits],
        "decisions": {str(k): v for k, v in (summary.get("decisions") or {}).items() if v},
        "cost": {name: _seconds(cost.get(name)) for name in COST if _seconds(cost.get(name)) is not None},
        "made": {name: _text(value) for name, value in run.environment.items() if value is not None},
    }


def _settings(run: Run) -> dict[str, Any]:
    found = {"id": run.id, **flat(run.spec)}
    return {name: value for name, value in found.items() if value not in (None, {}, [])}


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _seconds(part: Any) -> float | None:
    value = part.get("seconds") if isinstance(part, dict) else None
    return round(value, 2) if isinstance(value, int | float) else None


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.3g}") for value in values]
