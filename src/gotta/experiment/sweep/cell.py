"""One cell wherever it is run: claimed, computed, stored, given back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import inf
from pathlib import Path
from shutil import rmtree
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.run import EVERY
from gotta.experiment.run.environment import environment
from gotta.experiment.run.loaded import KEPT
from gotta.experiment.run.memory_film import is_recorded, record_path, recorder_of
from gotta.experiment.run.run import run
from gotta.experiment.run.snapshots import Snapshots
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import permit
from gotta.experiment.sweep.bucket import claims_of
from gotta.experiment.sweep.leases import BEAT, Lease, Leases
from gotta.experiment.sweep.store import Run, Store
from gotta.files import write_atomically

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
    label: str = ""  # what people call the run, where its plan is known

    def __str__(self) -> str:
        found = {
            "moved": f"step {self.step} of {self.steps}, accuracy {self.accuracy:.1f}",
            "finished": f"accuracy {self.accuracy:.2f}",
        }.get(self.kind, self.message)
        return f"{self.label or self.id} {self.kind}" + (f": {found}" if found else "")


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
    record: frozenset[str] = frozenset()  # the ids of the cells to record
    recipe: Mapping[str, Any] | None = None  # that asks for the cells

    def done(self, id: str) -> bool:
        """Is the run stored, and its recording as well if there is to be one?"""
        return Store(self.root).has(id) and (id not in self.record or is_recorded(self.root, id))

    def leases(self) -> Leases:
        return _leases(self.root, self.beat)

    def progress(self, ids: Iterable[str]) -> list[Event]:
        """How far cells are that others run, of those that have told."""
        known = self.leases().progress()
        return [Event("moved", id, **noted) for id in ids if (noted := known.get(id))]

    def tidy(self, id: str) -> None:
        """Remove what a process killed right after storing a cell has left of it."""
        left = [Path(self.root) / name / id for name in ("snapshots", "leases")]
        if any(path.exists() for path in left) and self.leases().holder(id) is None:
            for path in left:
                rmtree(path, ignore_errors=True)

    def snapshots(self, id: str, notice: Callable[[str], None] = lambda message: None) -> Snapshots:
        return Snapshots(Path(self.root) / "snapshots" / id, self.snapshot_every, notice)


@dataclass(frozen=True)
class Computed:
    """What a cell gave, wherever that was."""

    steps: list[dict[str, Any]]
    summary: dict[str, Any]
    made_by: dict[str, Any]
    recording: str | None = None


@lru_cache(maxsize=8)  # one heartbeat per process, however many cells it runs
def _leases(root: str, beat: float) -> Leases:
    return Leases(root, beat, files=claims_of(root))


class LeaseLost(Exception):
    """Somebody found this process dead and took its cell over."""


def receive(spec: RunSpec) -> RunSpec:
    """A spec as the driver of this sweep sent it, which has seen to it that its parts may be imported."""
    permit(spec.model_dump())
    return spec


def execute(spec: RunSpec, work: Work, listen: Listener) -> Event:
    """One run, claimed before and stored when complete; its last event."""
    claimed = claim(spec, work)
    if isinstance(claimed, Event):
        last = claimed
    else:
        last = conclude(spec, work, claimed, lambda: compute(spec, work, telling(claimed, listen)), listen)
    listen(last)
    return last


def telling(lease: Lease, listen: Listener) -> Listener:
    """Heartbeats carry the progress as well. A run whose lease is lost stops."""

    def heard(event: Event) -> None:
        if event.kind == "moved":
            if lease.lost:
                raise LeaseLost
            lease.progress = {"step": event.step, "steps": event.steps, "accuracy": event.accuracy}
        listen(event)

    return heard


def compute(spec: RunSpec, work: Work, listen: Listener) -> Computed:
    """The numbers of one run, from its last snapshot on if there is one. A recording must see every step."""

    def moved(step: int, steps: int, accuracy: float) -> None:
        listen(Event("moved", spec.id, step, steps, accuracy))

    def notice(message: str) -> None:
        listen(Event("notice", spec.id, message=message))

    spec.check_unchanged()
    listen(Event("started", spec.id))
    snapshots, recorder = work.snapshots(spec.id, notice), recorder_of(spec) if spec.id in work.record else None
    if recorder is not None and work.shared and snapshots.folder.exists():
        notice("it starts anew and not from its snapshot, because a recording must see every step")
    steps, summary = run(
        spec,
        moved,
        device=work.device,
        snapshots=snapshots if work.shared and work.snapshot_every < inf and recorder is None else None,
        recorder=recorder,
        hashes=Path(work.root) / KEPT if work.shared else None,
    )
    return Computed(steps, summary, environment(), None if recorder is None else recorder.text())


def keep(spec: RunSpec, work: Work, lease: Lease, result: Computed, listen: Listener) -> Event:
    """Store a result, and its recording if there is one, and give the lease back."""
    lease.check()
    if lease.lost:
        raise LeaseLost
    store, accuracy = Store(work.root), result.summary["accuracy"]
    recipe = dict(work.recipe or {})
    made = Run(spec.id, spec.model_dump(), result.summary, result.made_by, None, spec.identity, recipe)
    if not store.write(made, result.steps):
        accuracy = store.read(spec.id).summary["accuracy"]  # stored before, and here for its recording
    if result.recording is not None:
        try:
            write_atomically(record_path(work.root, spec.id), result.recording)
        except GottaError as error:
            raise GottaError(f"its numbers are stored, its recording is not: {error}") from error
        if accuracy != (now := result.summary["accuracy"]):
            told = f"the stored run has accuracy {accuracy:.2f} and stays; the recorded one, made anew, has {now:.2f}"
            listen(Event("notice", spec.id, message=told))
    rmtree(work.snapshots(spec.id).folder, ignore_errors=True)
    work.leases().release(lease, "finished")
    return Event("finished", spec.id, accuracy=accuracy)


def claim(spec: RunSpec, work: Work) -> Lease | Event:
    """The lease of a cell that is still to be run, or the last event of one that is not for us."""
    try:
        lease = work.leases().claim(spec.id)
        if lease is None:
            return Event("taken", spec.id)
        if not work.done(spec.id):
            return lease
        work.leases().release(lease, "finished before")  # by somebody between our look and our claim
        return Event("finished", spec.id, accuracy=Store(work.root).read(spec.id).summary["accuracy"])
    except GottaError as error:
        return failure(spec, error)


def failure(spec: RunSpec, error: Exception) -> Event:
    """A policy or method of the user's own may raise anything; the other cells go on."""
    message = str(error) if isinstance(error, GottaError) else f"{type(error).__name__}: {error}"
    return Event("failed", spec.id, message=message)


def conclude(spec: RunSpec, work: Work, lease: Lease, result: Callable[[], Computed], listen: Listener) -> Event:
    """Store a result as soon as it is there, and give the lease back; the last event."""
    why = "stopped"
    try:
        return keep(spec, work, lease, result(), listen)
    except LeaseLost:
        return Event("taken", spec.id)
    except Exception as error:
        why = "failed"
        return failure(spec, error)
    finally:
        if lease.held:
            work.leases().release(lease, why)
