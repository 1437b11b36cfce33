"""How far a folder of runs is, by looking only: finished, damaged, being written, claimed."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from math import inf

from gotta.experiment.sweep.kept import Kept
from gotta.experiment.sweep.leases import Leases, is_alive_here
from gotta.experiment.sweep.store import ASIDE, Store
from gotta.report.stored_run import Damaged, Run, read_runs

KINDS = ("running", "waiting", "silent", "failed")  # of claims
SILENT = 60.0  # seconds without a heartbeat after which a claim counts as dead


@dataclass(frozen=True)
class Claim:
    """A cell that somebody has claimed: `state` is one of KINDS; `age` is seconds since its last sign."""

    id: str
    state: str
    age: float
    by: str = ""
    progress: str = ""


@dataclass(frozen=True)
class State:
    """A store at one moment."""

    runs: tuple[Run, ...]
    damaged: tuple[Damaged, ...]
    claims: tuple[Claim, ...]
    newest: float | None  # seconds since the last run was finished

    @property
    def counts(self) -> list[str]:
        """How many cells are not finished, in words by what they are."""
        found = {kind: sum(claim.state == kind for claim in self.claims) for kind in KINDS}
        return [f"{count} {kind}" for kind, count in found.items() if count]


def look(store: Store | Kept, now: float | None = None) -> State:
    """Nothing is written, not even a probe: the folder may be read-only or somebody else's."""
    now = time.time() if now is None else now
    runs, damaged = read_runs(store)
    finished = {run.id for run in runs}
    under_way = (*_leases(store, now), *_asides(store, now)) if isinstance(store, Store) else ()
    by_id = {claim.id: claim for claim in reversed(under_way) if claim.id not in finished}
    ages = [now - run.stored.finished for run in runs if run.stored.finished is not None]
    ordered = tuple(sorted(by_id.values(), key=lambda claim: (claim.state, claim.id)))
    return State(tuple(runs), tuple(damaged), ordered, min(ages, default=None))


def _leases(store: Store, now: float) -> Iterator[Claim]:
    leases = Leases(store.root, files=store.bucket)
    events, told = {str(entry.get("id")): entry for entry in leases.history()}, leases.progress()
    for id, numbers in leases.cells().items():
        holder, touched = leases.read(id, numbers[-1])
        if touched == inf:  # finished meanwhile
            continue
        event = events.get(id, {})
        if touched == 0.0:  # given back without having finished
            age = now - float(event.get("time", now))
            yield Claim(id, "failed" if event.get("event") == "failed" else "waiting", age)
            continue
        by = "?, process ?" if holder is None else f"{holder.node}, process {holder.pid}"
        known = is_alive_here(holder)
        state = "running" if (abs(now - touched) <= SILENT if known is None else known) else "silent"
        noted = told.get(id) if holder else None
        progress = f"step {noted['step']} of {noted['steps']}, accuracy {noted['accuracy']:.1f}" if noted else ""
        yield Claim(id, state, now - touched, by, progress)


def _asides(store: Store, now: float) -> Iterator[Claim]:
    """Folders that are being written, or were when their process died."""
    for path in sorted(store.folder.iterdir()) if store.folder.is_dir() else []:
        match = ASIDE.fullmatch(path.name)
        if match:
            with suppress(OSError):
                age = now - path.stat().st_mtime
                yield Claim(match["id"], "running" if age <= SILENT else "silent", age, f"process {match['pid']}")
