"""What was found when kept runs were run again: a line each, in a file beside theirs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from gotta.experiment.sweep.kept import NOT_RUNS, line_of
from gotta.experiment.sweep.store import Run
from gotta.files import write_atomically
from gotta.json_yaml import parse_json, read_bytes

VERIFIED = NOT_RUNS[0]
SAME, NEAR, OTHER = "same", "near", "other"


@dataclass(frozen=True)
class Verified:
    """What came of running a kept run again: the same bits, numbers as near as another machine's are, or others."""

    id: str
    line: str  # the checksum of the line that was checked
    outcome: str
    difference: float  # the largest of all domains, in points of accuracy
    when: str
    commit: str | None
    cpu: str | None
    torch: str

    def __str__(self) -> str:
        told = {SAME: "the same to the bit", NEAR: "as near as another machine is", OTHER: "OTHER NUMBERS"}
        return f"{self.id}  {told[self.outcome]} (largest difference of a domain: {self.difference:.2g} points)"


def note(found: Iterable[Verified], path: Path) -> None:
    """Add to a file of what was verified, a line for each."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    write_atomically(path, before + "".join(json.dumps(asdict(one)) + "\n" for one in found))


def read_verified(path: Path, runs: Sequence[Run]) -> dict[str, Verified]:
    """The last word on each run, of those whose line is still the one that was checked."""
    lines = {run.id: checksum_of(run) for run in runs}
    known = [_read(line) for line in read_bytes(path).splitlines()] if path.exists() else []
    return {one.id: one for one in known if one is not None and lines.get(one.id) == one.line}


def _read(line: bytes) -> Verified | None:
    """A line that says nothing verifies nothing."""
    try:
        found = Verified(**parse_json(line))
        return found if isinstance(found.id, str) and found.outcome in (SAME, NEAR, OTHER) else None
    except (TypeError, ValueError):
        return None


def checksum_of(run: Run) -> str:
    return str(parse_json(line_of(run))["sha256"])
