"""A run over its stream, from the records of its steps: accuracy, the state of the memory, the domains it met."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf
from pathlib import Path
from typing import NamedTuple

from gotta.experiment.sweep.store import STEPS, unreadable_steps
from gotta.json_yaml import parse_json, read_bytes
from gotta.metrics.measures import MEASURES
from gotta.report.stored_run import Run, is_number

BINS = 96
HEAD = re.compile(
    rb'\{"step": \d+, "samples": (\d+), "correct": (\d+), [^{}]*"domains": (\{[^{}]*\})[,}]'
)  # as the store writes a step


@dataclass(frozen=True)
class Visit:
    """A domain and the samples [start, end) of the stream that were of it."""

    name: str
    start: int
    end: int


@dataclass(frozen=True)
class Series:
    """Values at `at` samples into the stream. `right[i]` of `samples[i]` were right since the value before.

    `steps` is how many steps they stand for.
    """

    at: tuple[int, ...]
    samples: tuple[int, ...]
    right: tuple[int, ...]
    state: Mapping[str, tuple[float | None, ...]]
    visits: tuple[Visit, ...]
    steps: int

    def __len__(self) -> int:
        return len(self.at)

    def accuracy(self, window: int = 1) -> list[float]:
        """In percent over the last `window` values together, so that large and small steps count by their samples."""
        spans = [slice(max(0, end - window), end) for end in range(1, len(self) + 1)]
        return [100 * sum(self.right[span]) / max(1, sum(self.samples[span])) for span in spans]


def series(run: Run, bins: int = BINS) -> Series:
    """At most `bins` values, evenly over the samples; a run without records of its steps has none."""
    # finished runs do not change, and several figures ask for the same one
    folder = run.stored.folder
    return _read(folder, bins) if folder is not None else _bin([], bins)


@lru_cache(maxsize=2048)
def _read(folder: Path, bins: int) -> Series:
    try:
        return _bin(read_bytes(folder / STEPS, inf).splitlines(), bins)
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise unreadable_steps(folder, error) from error


class Count(NamedTuple):
    """What every step adds: samples of which so many were right, by domain."""

    samples: int
    right: int
    domains: Mapping[str, int]


def count_step(line: bytes) -> Count | None:
    """The counts of a step. Sweeps have a million steps, so only a line of unusual order is parsed as a whole."""
    head = HEAD.match(line)
    if head is not None:
        try:
            return _count(*head.groups())
        except ValueError:  # a brace in a domain's name
            pass
    step = parse_json(line)
    if not isinstance(step.get("samples"), int):
        return None
    return Count(step["samples"], int(step.get("correct", 0)), step.get("domains") or {})


@lru_cache(maxsize=4096)  # steps are alike: as many samples, one domain
def _count(samples: bytes, right: bytes, domains: bytes) -> Count:
    return Count(int(samples), int(right), parse_json(domains))


def _bin(lines: Sequence[bytes], bins: int) -> Series:
    steps = [(count, line) for line in lines if (count := count_step(line)) is not None]
    positions = list(accumulate(count.samples for count, _ in steps))
    correct = list(accumulate(count.right for count, _ in steps))
    ends: list[int] = []  # the steps at which a value ends
    for k, position in enumerate(positions):
        if position * bins >= (len(ends) + 1) * positions[-1] or k == len(steps) - 1:
            ends.append(k)
    at, right_until = ([counts[k] for k in ends] for counts in (positions, correct))
    samples, right = (tuple(b - a for a, b in pairwise([0, *counts])) for counts in (at, right_until))
    rows = [parse_json(steps[k][1]).get("memory") or {} for k in ends]
    curves = [name for name, measure in MEASURES.items() if measure.curve]
    state = {name: tuple(row.get(name) if is_number(row.get(name)) else None for row in rows) for name in curves}
    known = {name: values for name, values in state.items() if any(value is not None for value in values)}
    met = tuple(visits(count.domains for count, _ in steps))
    return Series(tuple(at), samples, right, known, met, len(steps))


def visits(steps: Iterable[Mapping[str, int]]) -> list[Visit]:
    """The domains in the order in which they came; domains that are mixed in every step have no order to show."""
    spans: list[tuple[str, int]] = []  # name and first sample
    position = 0
    for domains in steps:
        for name, count in domains.items():
            if not spans or spans[-1][0] != name:
                spans.append((name, position))
            position += count
    if len(spans) > len({name for name, _ in spans}):
        return []
    edges = [*(start for _, start in spans), position]
    return [Visit(name, start, end) for (name, _), (start, end) in zip(spans, pairwise(edges), strict=True)]
