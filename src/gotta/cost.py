"""What a run costs: seconds, forward and backward passes in each phase, and the peak of memory."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from time import perf_counter
from typing import Any, NamedTuple

from gotta.errors import check_known, unknown

PHASES = ("predict", "observe", "adapt", "refresh", "guard")
OUTSIDE = "other"  # what is counted while no phase is open


class Tally(NamedTuple):
    """What one phase has cost. Samples are those that went through its forward passes."""

    seconds: float = 0.0
    forwards: int = 0
    backwards: int = 0
    samples: int = 0

    def plus(self, other: "Tally", sign: int = 1) -> "Tally":
        (a, b, c, d), (e, f, g, h) = self, other  # a fraction of the time that a loop takes, in every step
        return Tally(a + sign * e, b + sign * f, c + sign * g, d + sign * h)


class Cost:
    """A stopwatch with counters for each phase. Time in a nested phase belongs to the inner one alone."""

    def __init__(self) -> None:
        self._spent = self._told = dict.fromkeys((*PHASES, OUTSIDE), Tally())  # in all; when `take` was called last
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        if name not in PHASES:
            raise unknown("phase", name, PHASES)
        self._charge()
        outer = len(self._open)
        self._open.append(name)
        try:
            yield
        finally:
            self._charge()
            del self._open[outer:]  # of which an interrupted step has taken back some

    def count(self, forwards: int = 0, backwards: int = 0, samples: int = 0) -> None:
        """Add passes to the phase that is open."""
        self._add(self._open[-1] if self._open else OUTSIDE, Tally(0.0, forwards, backwards, samples))

    def take(self) -> dict[str, dict[str, Any]]:
        """What has been spent since the last call, for the phases that spent something."""
        self._charge()
        recent = {name: tally.plus(self._told[name], -1) for name, tally in self._spent.items()}
        self._told = self._spent
        return {name: tally._asdict() for name, tally in recent.items() if any(tally)}

    def record(self) -> Callable[[], None]:
        """A call after which nothing has been spent since now, and the same phases are open."""
        spent, told, opened = self._spent, self._told, len(self._open)

        def back() -> None:
            self._spent, self._told = spent, told
            del self._open[opened:]

        return back

    def restart(self, spent: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on from what somebody has spent before, by phase."""
        for name in spent:
            check_known("phase", name, PHASES)
        before = {name: Tally().plus(Tally(**tally)) for name, tally in spent.items()}
        self._spent = self._told = {**dict.fromkeys(self._spent, Tally()), **before}

    def summary(self) -> dict[str, Any]:
        """Each phase, their `total`, and the peak of memory in MB. Changes nothing that `take` returns."""
        self._charge()
        total, cuda = reduce(Tally.plus, self._spent.values()), _cuda()
        phases = {name: tally._asdict() for name, tally in {**self._spent, "total": total}.items()}
        peak_cuda_mb = None if cuda is None else cuda.max_memory_allocated() / 2**20
        return {**phases, "peak_mb": _resident_mb(), "peak_cuda_mb": peak_cuda_mb}

    def _add(self, name: str, more: Tally) -> None:
        self._spent = {**self._spent, name: self._spent[name].plus(more)}

    def _charge(self) -> None:
        """Give the time since the last look at the clock to the phase that was open."""
        cuda = _cuda()
        if cuda is not None:  # kernels run behind the clock: without waiting, their time would fall into a later phase
            cuda.synchronize()
        now = perf_counter()
        if self._open:
            self._add(self._open[-1], Tally(now - self._since))
        self._since = now


def _resident_mb() -> float | None:
    """The peak of this process since it started."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)  # bytes there, kilobytes elsewhere


def _cuda() -> Any:
    """torch.cuda if this process uses it, else None."""
    torch = sys.modules.get("torch")
    return torch.cuda if torch is not None and torch.cuda.is_initialized() else None
