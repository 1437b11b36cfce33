"""One cell wherever it is run: claimed, computed, stored, given back."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from shutil import rmtree

from gotta.errors import GottaError
from gotta.experiment.clocks import recording
from gotta.experiment.environment import environment
from gotta.experiment.leases import BEAT, LIMIT, Lease, Leases
from gotta.experiment.run import Result, run
from gotta.experiment.snapshots import EVERY, Snapshots
from gotta.experiment.spec import RunSpec
from gotta.experiment.store import Store

LAST = ("finished", "failed", "taken")


@dataclass(frozen=True)
class Event:
    """Something happened to a run."""

    kind: str  # started, moved, notice, and the last ones: finished, failed, taken (by another sweep)
    id: str
    step: int = 0
    steps: int = 0
    accuracy: float = 0.0
    message: str = ""


Listener = Callable[[Event], None]


@dataclass(frozen=True)
class Work:
    """What a cell needs to know besides its spec."""

    root: str  # of the store
    threads: int = 1
    device: str = "cpu"
    snapshot_every: float = EVERY  # seconds; infinity for none
    shared: bool = True  # whether who computes sees the store
    beat: float = BEAT
    limit: float = LIMIT

    def leases(self) -> Leases:
        return _leases(self.root, self.beat, self.limit)

    def tidy(self, id: str) -> None:
        """Remove what a process killed right after storing a cell has left of it."""
        left = [Path(self.root) / name / id for name in ("snapshots", "leases")]
        if any(path.exists() for path in left) and self.leases().holder(id) is None:
            for path in left:
                rmtree(path, ignore_errors=True)

    def snapshots(self, id: str, notice: Callable[[str], None] = lambda message: None) -> Snapshots:
        return Snapshots(Path(self.root) / "snapshots" / id, self.snapshot_every, notice)


_leases = lru_cache(maxsize=8)(Leases)  # one heartbeat per process, however many cells it runs


class LeaseLost(Exception):
    """Somebody found this process dead and took its cell over."""


def execute(spec: RunSpec, work: Work, listen: Listener) -> Event:
    """One run, claimed before and stored when complete; its last event."""
    last = _attempt(spec, work, listen)
    listen(last)
    return last


def compute(spec: RunSpec, work: Work, listen: Listener, lease: Lease | None = None) -> Result:
    """The numbers of one run, from its last snapshot on if there is one."""

    def moved(step: int, steps: int, accuracy: float) -> None:
        if lease is not None:
            if lease.lost:
                raise LeaseLost
            lease.progress = {"step": step, "steps": steps, "accuracy": accuracy}
        listen(Event("moved", spec.id, step, steps, accuracy))

    listen(Event("started", spec.id))
    snapshots = work.snapshots(spec.id, lambda message: listen(Event("notice", spec.id, message=message)))
    return run(
        spec,
        moved,
        device=work.device,
        snapshots=snapshots if work.shared and work.snapshot_every < inf else None,
        recording=recording(Path(work.root), spec) if work.shared else None,
    )


def keep(spec: RunSpec, work: Work, lease: Lease, result: Result, made_by: dict[str, object]) -> Event:
    """Store a result and give the lease back."""
    steps, summary = result
    lease.renew()
    if lease.lost:
        raise LeaseLost
    Store(work.root).write(spec.id, spec=spec.model_dump(), steps=steps, summary=summary, environment=made_by)
    work.snapshots(spec.id).remove()
    work.leases().release(lease, "finished")
    return Event("finished", spec.id, accuracy=summary["accuracy"])


def claim(spec: RunSpec, work: Work) -> Lease | Event:
    """The lease of a cell that is still to be run, or the last event of one that is not for us."""
    lease = work.leases().claim(spec.id)
    if lease is None:
        return Event("taken", spec.id)
    store = Store(work.root)
    if store.has(spec.id):  # finished by somebody between our look and our claim
        work.leases().release(lease, "finished before", done=True)
        return Event("finished", spec.id, accuracy=store.read(spec.id).summary["accuracy"])
    return lease


def failure(spec: RunSpec, error: Exception) -> Event:
    """A policy or method of the user's own may raise anything; the other cells go on."""
    message = str(error) if isinstance(error, GottaError) else f"{type(error).__name__}: {error}"
    return Event("failed", spec.id, message=message)


def _attempt(spec: RunSpec, work: Work, listen: Listener) -> Event:
    try:
        lease = claim(spec, work)
    except GottaError as error:
        return failure(spec, error)
    if isinstance(lease, Event):
        return lease
    why = "stopped"
    try:
        return keep(spec, work, lease, compute(spec, work, listen, lease), environment())
    except LeaseLost:
        return Event("taken", spec.id)
    except Exception as error:
        why = "failed"
        return failure(spec, error)
    finally:
        if lease.held:
            work.leases().release(lease, why)
