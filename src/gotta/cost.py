"""What a run costs: seconds, forward and backward passes in each phase, and the peak of memory."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from gotta.errors import unknown

PHASES = ("predict", "observe", "adapt", "refresh", "guard")
OUTSIDE = "other"  # what is counted while no phase is open


@dataclass
class Tally:
    """What one phase has cost. Samples are those that went through its forward passes."""

    seconds: float = 0.0
    forwards: int = 0
    backwards: int = 0
    samples: int = 0

    def add(self, other: "Tally") -> None:
        self.seconds += other.seconds
        self.forwards += other.forwards
        self.backwards += other.backwards
        self.samples += other.samples

    def __bool__(self) -> bool:
        return bool(self.seconds or self.forwards or self.backwards or self.samples)

    def copy(self) -> "Tally":
        return Tally(self.seconds, self.forwards, self.backwards, self.samples)

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))  # a fraction of the time that `asdict` takes, in every step


class Cost:
    """A stopwatch with counters for each phase. Time in a nested phase belongs to the inner one alone."""

    def __init__(self) -> None:
        self._total = _tallies()
        self._recent = _tallies()
        self._open: list[str] = []
        self._since = 0.0

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        _check(name)
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
        name = self._open[-1] if self._open else OUTSIDE
        self._recent[name].add(Tally(0.0, forwards, backwards, samples))

    def add(self, name: str, seconds: float, forwards: int = 0, backwards: int = 0, samples: int = 0) -> None:
        """Add to a phase what somebody else has measured."""
        self._recent[_check(name)].add(Tally(seconds, forwards, backwards, samples))

    def take(self) -> dict[str, dict[str, Any]]:
        """What has been spent since the last call, for the phases that spent something."""
        self._charge()
        spent = {name: tally for name, tally in self._recent.items() if tally}
        for name, tally in spent.items():
            self._total[name].add(tally)
            self._recent[name] = Tally()
        return {name: tally.as_dict() for name, tally in spent.items()}

    def record(self) -> Callable[[], None]:
        """A call after which nothing has been spent since now, and the same phases are open."""
        recent, total, opened = _copied(self._recent), _copied(self._total), len(self._open)

        def back() -> None:
            self._recent, self._total = _copied(recent), _copied(total)
            del self._open[opened:]

        return back

    def restart(self, spent: Mapping[str, Mapping[str, Any]]) -> None:
        """Go on from what somebody has spent before, by phase."""
        self._total, self._recent = _tallies(), _tallies()
        for name, tally in spent.items():
            self._total[_check(name)].add(Tally(**tally))

    def summary(self) -> dict[str, Any]:
        """Each phase, their `total`, and the peak of memory. Changes nothing that `take` returns."""
        self._charge()
        both = _tallies()
        total = Tally()
        for name, tally in both.items():
            tally.add(self._total[name])
            tally.add(self._recent[name])
            total.add(tally)
        return {**{name: tally.as_dict() for name, tally in both.items()}, "total": total.as_dict(), **peak_memory()}

    def _charge(self) -> None:
        """Give the time since the last look at the clock to the phase that was open."""
        _finish_device_work()
        now = perf_counter()
        if self._open:
            self._recent[self._open[-1]].seconds += now - self._since
        self._since = now


def _check(name: str) -> str:
    if name not in PHASES:
        raise unknown("phase", name, PHASES)
    return name


def peak_memory() -> dict[str, float | None]:
    """Peak resident memory of this process since it started, and of CUDA tensors if any were used, in MB."""
    cuda = _cuda()
    return {
        "peak_mb": _resident_mb(),
        "peak_cuda_mb": None if cuda is None else cuda.max_memory_allocated() / 2**20,
    }


def _resident_mb() -> float | None:
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


def _finish_device_work() -> None:
    """Kernels run behind the clock: without waiting, their time would fall into a later phase."""
    cuda = _cuda()
    if cuda is not None:
        cuda.synchronize()


def _copied(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    return {name: tally.copy() for name, tally in tallies.items()}


def _tallies() -> dict[str, Tally]:
    return {name: Tally() for name in (*PHASES, OUTSIDE)}
