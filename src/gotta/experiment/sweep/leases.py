"""Who runs which cell: files that are claimed atomically, kept alive by a heartbeat, and taken over from the dead.

`leases/<id>/` holds one file per claim, numbered upwards. The highest number is the holder. A claim is the exclusive
creation of the next number. Many may see a dead holder, and exactly one takes over. No file is ever taken away
under somebody who relies on it. A process has one heart for all its claims: the file `leases/.heart-...` that it writes
again and again, with how far its cells are.

Files are those of a folder, or the objects of a bucket (`bucket.py`), which answers the same few questions.

Whether a holder lives does not depend on clocks. On its own machine the process is looked for, by its id and when it
began. Elsewhere its heart must have beaten within the time that whoever looks has looked, by a clock that nobody sets.
"""

import errno
import json
import os
import platform
import re
import secrets
import shutil
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from math import inf
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

from pydantic import ConfigDict, Field, TypeAdapter

from gotta.errors import GottaError
from gotta.experiment.sweep.processes import alive, machine, start_time
from gotta.json_yaml import open_plain, parse_json

if TYPE_CHECKING:
    from gotta.experiment.sweep.bucket import Bucket

BEAT = 5.0  # seconds between two heartbeats
LIMIT = 60.0  # seconds without a heartbeat after which a holder on another machine counts as dead
CLAIM = re.compile("[0-9]{6}|[1-8][0-9]{6,8}")
HEART = re.compile(r"\.heart-(?P<machine>[0-9a-f]{8})-(?P<pid>[0-9]{1,10})-[0-9a-f]{1,16}")
LEASES = "leases"  # the folder of them in a store
LOG = "log.jsonl"
RETIRED = b"released"
FINISHED = ("finished", "finished before")  # events after which nobody claims a cell
LARGEST = 1 << 24  # bytes of a claim, of what a heart tells, and of the log that are looked at
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, as its file says it, whoever wrote that."""

    __pydantic_config__ = ConfigDict(strict=True, extra="forbid")
    node: str
    machine: str
    pid: Annotated[int, Field(gt=0, lt=1 << 31)]
    started: str
    token: str
    heart: str = ""


HOLDER = TypeAdapter(Holder)


@dataclass
class Lease:
    """The right to run one cell, until it is released or `lost` to somebody who found the holder dead."""

    id: str
    number: int
    leases: "Leases"
    held: bool = True
    lost: bool = False
    progress: dict[str, Any] = field(default_factory=dict)  # told with the next heartbeat, for whoever looks on

    def check(self) -> None:
        """Find out whether it is lost."""
        with suppress(OSError):  # a file server that is away for a while
            self.lost = self.lost or self.leases.numbers(self.id)[-1:] != [self.number]


class Leases:
    """The leases of one store. One thread keeps alive all that this object has claimed."""

    def __init__(
        self, root: str | Path, beat: float = BEAT, limit: float = LIMIT, files: "Folder | Bucket | None" = None
    ) -> None:
        self.folder, self.beat, self.limit = Path(root) / LEASES, beat, limit
        self.files = files or Folder(root)
        self.heart = ""
        self._held: dict[str, Lease] = {}
        self._told: dict[str, Any] = {}
        self._seen: dict[tuple[str, int], tuple[float, float]] = {}
        self._thread: threading.Thread | None = None

    def cells(self) -> dict[str, list[int]]:
        """The cells that somebody has claimed, with the numbers of these claims."""
        claimed = {id: self.numbers(id) for id in self.files.names(LEASES) if not id.startswith(".")}
        return {id: numbers for id, numbers in claimed.items() if numbers}

    def numbers(self, id: str) -> list[int]:
        """The claims of a cell, upwards."""
        return numbers_in(self.files, f"{LEASES}/{id}")

    def read(self, id: str, number: int) -> tuple[Holder | None, float]:
        """The holder and a number that changes with each heartbeat: 0 if it was released, inf if it is gone."""
        found = self.files.read(_claim(id, number))
        if found is None:
            return None, inf  # not ours to claim now
        content, touched = found
        if content == RETIRED:
            return None, 0.0
        try:
            holder = HOLDER.validate_json(content)
        except ValueError:  # being written, or damaged: its age decides
            return None, touched
        beat = self.files.read(f"{LEASES}/{holder.heart}") if HEART.fullmatch(holder.heart) else None
        return holder, (beat and beat[1]) or touched

    def claim(self, id: str) -> Lease | None:
        """The lease of a cell, or None while another living worker holds it."""
        try:
            self._start()
            before = self.numbers(id)
            if before and self._lives(id, before[-1]):
                return None
            lease = Lease(id, before[-1] + 1 if before else 1, self)
            pid = os.getpid()
            me = Holder(platform.node(), machine(), pid, start_time(pid), secrets.token_hex(8), self.heart)
            if not self.files.create(_claim(id, lease.number), json.dumps(asdict(me)).encode()):
                return None
        except OSError as error:
            told = f"cannot claim a run in '{self.folder}': {error.strerror or error}"
            raise GottaError(f"{told}. Make room there or choose a folder that can be written.") from error
        if self.numbers(id) != [*before, lease.number]:  # it was cleared meanwhile: the cell is finished
            self.files.remove(_claim(id, lease.number))
            return None
        self._held[id] = lease
        self.log("taken over" if before else "claimed", lease)
        return lease

    def holder(self, id: str) -> Holder | None:
        """Who is running a cell now, if anybody who lives is."""
        claims = self.numbers(id)
        return self.read(id, claims[-1])[0] if claims and self._lives(id, claims[-1]) else None

    def free(self, id: str) -> bool:
        """Whether nobody who lives has a cell. The claim of a dead worker is given back on its behalf, so that the
        next to look need not wait as long again."""
        claims = self.numbers(id)
        if not claims or self.read(id, claims[-1])[1] == 0:
            return True
        if self._lives(id, claims[-1]):
            return False
        if lease := self.claim(id):
            self.release(lease, "given back")
        return lease is not None

    def progress(self) -> dict[str, dict[str, Any]]:
        """How far cells are, by id, as the hearts of their holders told last."""
        found = [self.files.read(f"{LEASES}/{heart}") for heart in filter(HEART.fullmatch, self.files.names(LEASES))]
        told: dict[str, Any] = {}
        for content, _ in sorted(filter(None, found), key=itemgetter(1)):
            with suppress(ValueError):
                noted = parse_json(content)
                told |= noted if isinstance(noted, dict) else {}
        return {id: noted for id, noted in told.items() if is_progress(noted)}

    def release(self, lease: Lease, event: str) -> None:
        """Give a lease back. Nobody needs the files of a finished cell; another one may be claimed at once."""
        lease.held = False
        self._held.pop(lease.id, None)
        self.log("lost" if lease.lost else event, lease)
        with suppress(OSError):
            if event in FINISHED:
                self.files.clear(f"{LEASES}/{lease.id}")
            else:
                self.files.retire(_claim(lease.id, lease.number))
            if not self._held:
                self.files.remove(f"{LEASES}/{self.heart}")

    def tidy(self) -> None:
        """Remove the hearts of processes known to have ended."""
        for heart in self.files.names(LEASES):
            match = HEART.fullmatch(heart)
            if match and match["machine"] == machine() and not alive(int(match["pid"])):
                self.files.remove(f"{LEASES}/{heart}")

    def log(self, event: str, lease: Lease) -> None:
        """Add a line to the log of claims. The log is for looking back; a disk that refuses it stops nothing."""
        line = {"time": time.time(), "id": lease.id, "event": event, "number": lease.number, "pid": os.getpid()}
        own = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link to elsewhere, no pipe
        with (
            suppress(OSError),
            open(self.folder / LOG, "ab", 0, opener=lambda name, flags: os.open(name, flags | own, 0o644)) as file,
        ):
            file.write((json.dumps({**line, "node": platform.node()}) + "\n").encode())

    def history(self) -> Iterator[dict[str, Any]]:
        """The last lines of the log, oldest first; one that a full disk cut off is left out."""
        try:
            with open_plain(self.folder / LOG) as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LARGEST))
                lines = file.read(LARGEST).splitlines()
        except OSError:
            return
        for line in lines:
            with suppress(ValueError):
                entry = parse_json(line)
                if isinstance(entry, dict) and isinstance(entry.get("time", 0.0), int | float):
                    yield entry

    def _lives(self, id: str, number: int) -> bool:
        holder, sign = self.read(id, number)
        if sign in (0, inf):  # released, or removed meanwhile: then it is not ours to claim now
            return sign == inf
        known = is_alive_here(holder)
        return self._is_beating(id, number, sign) if known is None else known

    def _is_beating(self, id: str, number: int, sign: float) -> bool:
        """Has there been another heartbeat in the last seconds that this process has looked at it?"""
        now = time.monotonic()
        before, since = self._seen.get((id, number), (inf, now))
        if before != sign:
            self._seen[id, number] = sign, now
            return True
        return now - since <= self.limit

    def _start(self) -> None:
        """Let the heart beat; a process forked from another one needs its own."""
        if not self.heart.startswith(name_heart("")):
            self.heart, self._held = name_heart(secrets.token_hex(4)), {}
        if not self._held:
            self._tell({}, changed=True)
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._thread.start()

    def _beat(self) -> None:
        while True:
            time.sleep(self.beat)
            if held := list(self._held.values()):
                self._beat_once(held)

    def _beat_once(self, held: list[Lease]) -> None:
        told = {lease.id: lease.progress for lease in held if lease.progress}
        with suppress(OSError):  # a file server that is away for a while, a disk that is full
            self._tell(told, changed=told != self._told)
            if not self._held:  # all were given back meanwhile
                self.files.remove(f"{LEASES}/{self.heart}")
        for lease in held:
            lease.check()

    def _tell(self, told: dict[str, Any], changed: bool) -> None:
        """A heartbeat, with what the cells report."""
        self.files.freshen(f"{LEASES}/{self.heart}", json.dumps(told).encode(), changed)
        self._told = told


class Folder:
    """Files of a folder that all see. `Bucket` has the same calls."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file, unless there is one of this name."""
        path = self.path / name
        try:
            with _written_aside(path, content) as aside:
                return _link(aside, path)
        except FileNotFoundError:  # the folder was cleared meanwhile
            return False

    def freshen(self, name: str, content: bytes, changed: bool) -> None:
        """Write a file whose time counts; often its content has not changed."""
        path = self.path / name
        if changed or not path.exists():
            try:
                with _written_aside(path, content) as aside:
                    aside.replace(path)
                return
            except OSError:
                if not path.exists():
                    raise
        os.utime(path)  # needs no room on a full disk

    def retire(self, name: str) -> None:
        """Leave its name alone: it reads as `RETIRED` from now on."""
        os.utime(self.path / name, (0, 0))

    def read(self, name: str) -> tuple[bytes, float] | None:
        """The content and when it was written. Opening asks a file server for now."""
        path = self.path / name
        try:
            with open_plain(path) as file:
                content, touched = file.read(LARGEST), os.fstat(file.fileno()).st_mtime
            return content if touched else RETIRED, touched
        except FileNotFoundError:
            return None
        except OSError:
            return _read_strange(path)

    def names(self, folder: str) -> list[str]:
        try:
            return sorted(os.listdir(self.path / folder))
        except (FileNotFoundError, NotADirectoryError):  # a file in its place shows when the cell is claimed
            return []

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def clear(self, folder: str) -> None:
        shutil.rmtree(self.path / folder, ignore_errors=True)


def _read_strange(path: Path) -> tuple[bytes, float] | None:
    """What is a folder, or must not be read, may be somebody's; a link or a pipe has no heart."""
    try:
        status = path.lstat()
    except OSError:
        return None
    known = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return (b"", status.st_mtime) if known else (RETIRED, 0.0)


@contextmanager
def _written_aside(path: Path, content: bytes) -> Iterator[Path]:
    """The content in a file beside `path`, which is gone afterwards."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    try:
        aside.write_bytes(content)
        yield aside
    finally:
        aside.unlink(missing_ok=True)


def _link(aside: Path, path: Path) -> bool:
    """Give a file another name, unless there is one of this name: a hard link is exclusive on file servers as well."""
    try:
        os.link(aside, path)
    except OSError as error:
        if aside.stat().st_nlink == 2:  # done, though the server's answer was lost
            return True
        if error.errno == errno.EEXIST:
            return False
        if error.errno not in NO_LINKS:
            raise
        content = aside.read_bytes()
        with suppress(FileExistsError), path.open("xb") as file:
            return file.write(content) == len(content)
        return False
    return True


def is_alive_here(holder: Holder | None) -> bool | None:
    """Whether a holder on this machine lives; None if it is elsewhere, or the machine does not say when it began."""
    if holder is None or holder.machine != machine():
        return None
    if not alive(holder.pid, holder.started):
        return False
    return True if holder.started else None


def _claim(id: str, number: int) -> str:
    return f"{LEASES}/{id}/{number:06}"


def numbers_in(files: "Folder | Bucket", folder: str) -> list[int]:
    """The numbers that a folder holds claims by; what is not called as a claim would be is none."""
    return sorted(int(name) for name in files.names(folder) if CLAIM.fullmatch(name))


def name_heart(own: str) -> str:
    """The name of a heart of this process."""
    return f".heart-{machine()}-{os.getpid()}-{own}"


def is_progress(noted: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is what a holder notes of its progress."""
    if not isinstance(noted, dict) or not all(type(noted.get(name)) is int for name in ("step", "steps")):
        return False
    numbers = len(noted) == 3 and isinstance(noted.get("accuracy"), int | float)
    return numbers and 0 <= noted["step"] <= noted["steps"]
