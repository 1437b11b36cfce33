"""How far a folder of runs is, by looking only: finished, damaged, being written, claimed."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gotta.experiment.sweep.processes import alive, machine
from gotta.experiment.sweep.store import ASIDE, Run, Store

SILENT = 60.0  # seconds without a heartbeat after which a claim counts as dead


@dataclass(frozen=True)
class Claim:
    """A cell that somebody has claimed: `state` is running, silent or failed; `age` is seconds since its last sign."""

    id: str
    state: str
    age: float
    by: str = ""
    progress: str = ""
    done: float | None = None  # the share of its steps


@dataclass(frozen=True)
class State:
    """A store at one moment."""

    runs: tuple[Run, ...]
    damaged: tuple[tuple[str, str], ...]
    claims: tuple[Claim, ...]
    newest: float | None  # seconds since the last run was finished
    seconds_left: float | None  # until the runs under way are done, by the pace of the finished ones

    def count(self, state: str) -> int:
        return sum(claim.state == state for claim in self.claims)


def look(store: Store, now: float | None = None) -> State:
    """Nothing is written, not even a probe: the folder may be read-only or somebody else's."""
    now = time.time() if now is None else now
    runs = store.runs()
    finished = {run.id for run in runs}
    claims = [claim for claim in (*_leases(store.root, now), *_asides(store, now)) if claim.id not in finished]
    by_id = {claim.id: claim for claim in reversed(claims)}
    ages = [now - run.folder.stat().st_mtime for run in runs if run.folder is not None and run.folder.exists()]
    ordered = tuple(sorted(by_id.values(), key=lambda claim: (claim.state, claim.id)))
    return State(tuple(runs), tuple(store.damaged()), ordered, min(ages, default=None), _left(runs, ordered))


def _leases(root: Path, now: float) -> Iterator[Claim]:
    folder = root / "leases"
    events = _last_events(folder / "log.jsonl")
    for cell in sorted(folder.iterdir()) if folder.is_dir() else []:
        if not cell.is_dir() or cell.name.startswith("."):
            continue
        numbers = sorted(path for path in cell.iterdir() if path.name.isdigit())
        try:
            touched = numbers[-1].stat().st_mtime if numbers else 0.0
        except OSError:  # finished meanwhile
            continue
        event = events.get(cell.name, {})
        noted = _document(cell / "progress.json")
        if touched == 0.0:  # given back without having finished
            age = now - float(event.get("time", now))
            yield Claim(cell.name, "failed" if event.get("event") == "failed" else "waiting", age)
            continue
        holder = _document(numbers[-1])
        by = f"{holder.get('node', '?')}, process {holder.get('pid', '?')}"
        state = "running" if abs(now - touched) <= SILENT and not _gone(holder) else "silent"
        yield Claim(cell.name, state, now - touched, by, _shown(noted), _share(noted))


def _gone(holder: dict[str, Any]) -> bool:
    """Whether the holder is a process of this machine that has ended."""
    pid = holder.get("pid")
    return (
        holder.get("machine") == machine() and isinstance(pid, int) and not alive(pid, str(holder.get("started", "")))
    )


def _asides(store: Store, now: float) -> Iterator[Claim]:
    """Folders that are being written, or were when their process died."""
    for path in sorted(store.folder.iterdir()) if store.folder.is_dir() else []:
        match = ASIDE.fullmatch(path.name)
        if match:
            try:
                age = now - path.stat().st_mtime
            except OSError:
                continue
            yield Claim(match["id"], "running" if age <= SILENT else "silent", age, f"process {match['pid']}")


def _last_events(path: Path) -> dict[str, dict[str, Any]]:
    """The last line of the log of claims for each cell."""
    found: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return {}
    for line in lines:
        entry = _parsed(line)
        if "id" in entry:
            found[str(entry["id"])] = entry
    return found


def _left(runs: Sequence[Run], claims: Sequence[Claim]) -> float | None:
    """The longest that a run under way still takes if it is like the usual finished one; None if nobody knows."""
    seconds = [run.summary["seconds"] for run in runs if isinstance(run.summary.get("seconds"), int | float)]
    shares = [claim.done for claim in claims if claim.state == "running" and claim.done is not None]
    return float(median(seconds)) * (1 - min(shares)) if seconds and shares else None


def _document(path: Path) -> dict[str, Any]:
    try:
        return _parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _shown(noted: dict[str, Any]) -> str:
    step, steps, accuracy = (noted.get(name) for name in ("step", "steps", "accuracy"))
    parts = [f"step {step} of {steps}"] if step is not None and steps else []
    parts += [f"accuracy {accuracy:.1f}"] if isinstance(accuracy, int | float) else []
    return ", ".join(parts)


def _share(noted: dict[str, Any]) -> float | None:
    step, steps = noted.get("step"), noted.get("steps")
    return step / steps if isinstance(step, int) and isinstance(steps, int) and steps else None
