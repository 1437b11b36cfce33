"""A run over its stream, from the records of its steps: accuracy, the state of the memory, the domains it met."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from gotta.experiment.store import Run

BINS = 96
STATE = ("purity", "balance", "coverage", "near_duplicates", "age_mean", "occupancy")


@dataclass(frozen=True)
class Visit:
    """A domain and the samples [start, end) of the stream that were of it."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Series:
    """Values at `at` samples into the stream. `right[i]` of `samples[i]` were right since the value before."""

    at: tuple[int, ...]
    samples: tuple[int, ...]
    right: tuple[int, ...]
    state: Mapping[str, tuple[float | None, ...]]
    visits: tuple[Visit, ...]

    def __len__(self) -> int:
        return len(self.at)

    def accuracy(self, window: int = 1) -> list[float]:
        """In percent over the last `window` values together, so that large and small steps count by their samples."""
        result = []
        for k in range(len(self)):
            since = slice(max(0, k + 1 - window), k + 1)
            result.append(100 * sum(self.right[since]) / max(1, sum(self.samples[since])))
        return result


def series(run: Run, bins: int = BINS) -> Series:
    """At most `bins` values, evenly over the samples; a run without records of its steps has none."""
    # finished runs do not change, and several figures ask for the same one
    return _read(run.folder, bins) if run.folder is not None else _binned([], bins)


@lru_cache(maxsize=2048)
def _read(folder: Path, bins: int) -> Series:
    return _binned(list(Run("", {}, {}, {}, folder).steps()), bins)


def _binned(records: Sequence[Mapping[str, Any]], bins: int) -> Series:
    steps = [step for step in records if isinstance(step.get("samples"), int)]
    total = sum(step["samples"] for step in steps)
    at: list[int] = []
    samples: list[int] = []
    right: list[int] = []
    rows: list[Mapping[str, Any]] = []
    position = seen = correct = 0
    for k, step in enumerate(steps):
        position, seen = position + step["samples"], seen + step["samples"]
        correct += int(step.get("correct", 0))
        if position * bins >= (len(at) + 1) * total or k == len(steps) - 1:
            at.append(position)
            samples.append(seen)
            right.append(correct)
            rows.append(step.get("memory") or {})
            seen = correct = 0
    state = {name: tuple(_number(row.get(name)) for row in rows) for name in STATE}
    known = {name: values for name, values in state.items() if any(value is not None for value in values)}
    return Series(tuple(at), tuple(samples), tuple(right), known, tuple(visits(steps)))


def visits(steps: Iterable[Mapping[str, Any]]) -> list[Visit]:
    """The domains in the order in which they came; domains that are mixed in every step have no order to show."""
    spans: list[Visit] = []
    position = 0
    for step in steps:
        for name, count in (step.get("domains") or {}).items():
            if spans and spans[-1].name == name:
                spans[-1] = Visit(name, spans[-1].start, position + count)
            else:
                spans.append(Visit(name, position, position + count))
            position += count
    distinct = {visit.name for visit in spans}
    return spans if len(spans) == len(distinct) else []


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
