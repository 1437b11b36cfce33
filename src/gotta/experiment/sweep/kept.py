"""Finished runs as lines of a file: small enough for a repository, each with a checksum, without records of steps."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.spec.identity import hash_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.bucket import is_folder
from gotta.experiment.sweep.store import FILES, SECTIONS, DamagedRun, Run, Store, checked
from gotta.files import write_atomically
from gotta.json_yaml import parse_json, plain, read_bytes
from gotta.safe_text import tell_few

ENDING = ".jsonl"
VERIFIED = "verified.jsonl"  # stands beside kept lines and holds none
CHECKSUM = "sha256"  # of the rest of a line
LARGEST = 20 << 20  # bytes of a file: a repository is no place for more


def open_runs(path: str | Path) -> "Store | Kept":
    """The store in a folder, or the lines of a file or of all such files in a folder."""
    path = Path(path)
    if path.is_dir() and not (path / "runs").is_dir() and any(path.glob(f"*{ENDING}")):
        return Kept(path)
    return Kept(path) if path.suffix == ENDING else Store(path)


def existing_runs(path: str | Path) -> "Store | Kept":
    """The same, which must be there."""
    if is_folder(path) and not Path(path).exists():
        raise GottaError(f"there is no folder '{path}'. Expected one of 'gotta bench', such as runs/mini.")
    return open_runs(path)


class Kept:
    """The runs in a file of lines, or in all such files of a folder. They are only read; `keep` writes them."""

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    @cached_property
    def files(self) -> list[Path]:
        if self.root.is_dir():
            return sorted(path for path in self.root.glob(f"*{ENDING}") if path.name != VERIFIED)
        return [self.root]

    @cached_property
    def _found(self) -> list[tuple[str, Run | str]]:
        return _each_once(chain.from_iterable(map(read_lines, self.files)))

    @cached_property
    def _by_id(self) -> dict[str, Run]:
        return {id: found for id, found in self._found if isinstance(found, Run)}

    def has(self, id: str) -> bool:
        return id in self._by_id

    def read(self, id: str) -> Run:
        if id not in self._by_id:
            raise GottaError(f"there is no run '{id}' in '{self.root}'.")
        return self._by_id[id]

    def scan(self) -> Iterator[tuple[str, Run | str]]:
        """Each run by id; or, by its file and line, why it cannot be read."""
        yield from self._found

    def runs(self) -> list[Run]:
        """Every readable run, by id."""
        return list(self._by_id.values())


Runs = Store | Kept  # where finished runs can be read


def keep(runs: Runs, path: Path) -> tuple[int, int]:
    """Add the runs that the file lacks, as lines sorted by id; how many are new, and how many it has then.

    What it has stays byte for byte. Nothing is written if a run or a line is damaged.
    """
    if path.suffix != ENDING:
        raise GottaError(f"kept runs are lines of a file that ends in {ENDING} (got '{path}').")
    new, before = _whole(runs), _whole(Kept(path)) if path.exists() else {}
    texts = {str(parse_json(line)["id"]): line for line in _texts(path)} if before else {}
    added = {id: line_of(run) for id, run in new.items() if id not in before}
    content = "".join(f"{line}\n" for _, line in sorted({**texts, **added}.items()))
    if len(content.encode()) > LARGEST:
        raise GottaError(f"'{path}' would have more than {LARGEST >> 20} MB. Keep the runs in several files.")
    if added:
        write_atomically(path, content)
    return len(added), len(texts) + len(added)


def adopt(runs: Runs, ids: Iterable[str], store: Store) -> None:
    """Store these runs, with the records of their steps if they have any, as if they had been finished there."""
    for id in ids:
        run = runs.read(id)
        if store.write(run, run.steps()) and run.finished is not None:
            os.utime(store.folder / id / FILES["spec"], (run.finished, run.finished))


def tell_made_otherwise(specs: Iterable[RunSpec], runs: Iterable[Run | str]) -> list[str]:
    """A sentence for each part that differs between specs and runs of the same settings, which are others for it."""
    known = {hash_of(run.identity["settings"]): run for run in runs if isinstance(run, Run)}
    count: Counter[str] = Counter()
    for spec in specs:
        run = known.get(hash_of(spec.identity["settings"]))
        if run is not None and run.id != spec.id:
            parts, now = run.identity.get("parts", {}), spec.identity["parts"]
            count[" and ".join(sorted(name for name in {**parts, **now} if parts.get(name) != now.get(name)))] += 1
    return [
        f"{number} runs there have the same settings and another version of {parts or 'gotta'}: they are run again."
        for parts, number in count.items()
    ]


def line_of(run: Run) -> str:
    """A run as one line, with its checksum last."""
    finished = None if run.finished is None else datetime.fromtimestamp(int(run.finished), UTC).isoformat()
    content = {"id": run.id, "finished": finished, **{name: plain(getattr(run, name)) for name in SECTIONS}}
    return json.dumps({**content, CHECKSUM: hash_of(content)}, separators=(",", ":"), allow_nan=False)


def read_line(line: bytes) -> Run:
    """The run of a line; `DamagedRun` where it was changed or cut."""
    try:
        content = parse_json(line)
    except ValueError as error:
        raise DamagedRun(f"it is not valid JSON ({error})") from None
    if not isinstance(content, dict) or not all(isinstance(content.get(name), dict) for name in SECTIONS):
        raise DamagedRun("it holds no run")
    if content.pop(CHECKSUM, None) != hash_of(content):
        raise DamagedRun("it was changed after it was written")
    sections: dict[str, Any] = {name: content[name] for name in SECTIONS}
    return checked(Run(str(content.get("id")), **sections, finished=_seconds(content.get("finished"))))


def read_lines(path: Path) -> Iterator[tuple[str, Run | str]]:
    """Each run of a file by id; or, by file and number of the line, why it cannot be read."""
    for number, line in enumerate(_texts(path), 1):
        try:
            run = read_line(line.encode("utf-8", "surrogateescape"))
            yield run.id, run
        except DamagedRun as problem:
            yield f"{path.name}, line {number}", str(problem)


def _texts(path: Path) -> list[str]:
    try:
        content = read_bytes(path, LARGEST, links=True)
    except FileNotFoundError:
        raise GottaError(f"there is no file '{path}'. Expected one that 'gotta keep' wrote.") from None
    except OSError as error:
        raise GottaError(f"'{path}' cannot be read: {error.strerror}.") from error
    return [line for line in content.decode("utf-8", "surrogateescape").split("\n") if line.strip()]


def _whole(runs: Runs) -> dict[str, Run]:
    """The runs by id; a damaged one is refused."""
    found = dict(runs.scan())
    damaged = [f"{id}: {reason}" for id, reason in found.items() if isinstance(reason, str)]
    if damaged:
        told = tell_few(damaged, 3, "; ")
        raise GottaError(f"{told} in '{runs.root}' is damaged, and nothing was kept. Run it again, or delete it.")
    return {id: run for id, run in found.items() if isinstance(run, Run)}


def _each_once(found: Iterator[tuple[str, Run | str]]) -> list[tuple[str, Run | str]]:
    """Several files may hold the same run; if its numbers differ, none of them can be believed."""
    known: dict[str, Run | str] = {}
    for id, run in found:
        before = known.get(id)
        if isinstance(run, Run) and isinstance(before, Run) and _numbers(before) != _numbers(run):
            known[id] = "it stands in several lines, with different numbers"
        else:
            known.setdefault(id, run)
    return sorted(known.items(), key=lambda item: item[0])


def _numbers(run: Run) -> Mapping[str, Any]:
    return {name: run.summary.get(name) for name in ("accuracy", "online")}


def _seconds(text: Any) -> float | None:
    with suppress(TypeError, ValueError, OverflowError):
        return datetime.fromisoformat(text).timestamp()
    return None


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
    known = [_read_verified(line) for line in read_bytes(path).splitlines()] if path.exists() else []
    return {one.id: one for one in known if one is not None and lines.get(one.id) == one.line}


def _read_verified(line: bytes) -> Verified | None:
    """A line that says nothing verifies nothing."""
    try:
        found = Verified(**parse_json(line))
        return found if isinstance(found.id, str) and found.outcome in (SAME, NEAR, OTHER) else None
    except (TypeError, ValueError):
        return None


def checksum_of(run: Run) -> str:
    return str(parse_json(line_of(run))["sha256"])
