"""Who runs which cell: files that are claimed atomically, kept alive by a heartbeat, and taken over from the dead.

`leases/<id>/` holds one file per claim, numbered upwards. The highest number is the holder. A claim is the exclusive
creation of the next number, so of many who see a dead holder exactly one takes over, and no file is ever taken away
under somebody who relies on it. A process has one heart for all its claims: the file `leases/.heart-...` that it writes
again and again, with how far its cells are.

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
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Protocol, TypeGuard

from gotta.errors import GottaError
from gotta.experiment.sweep.processes import alive, machine, start_time
from gotta.json_yaml import open_plain, parse_json, read_json

BEAT = 5.0  # seconds between two heartbeats
LIMIT = 60.0  # seconds without a heartbeat after which a holder on another machine counts as dead
CLAIM = re.compile("[0-9]{6}|[1-8][0-9]{6,8}")
HEART = re.compile(r"\.heart-(?P<machine>[0-9a-f]{8})-(?P<pid>[0-9]{1,10})-[0-9a-f]{1,16}")
SMALL = 1 << 16  # bytes of a claim
LOG = 1 << 24  # bytes of the log, and of what a heart tells, that are looked at
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, as its file says it."""

    node: str
    machine: str
    pid: int
    started: str
    token: str
    heart: str = ""

    def is_somebody(self) -> bool:
        """Whether these are a name, a process id and so on, whoever wrote them."""
        texts = (self.node, self.machine, self.started, self.token, self.heart)
        return type(self.pid) is int and 0 < self.pid < 1 << 31 and all(isinstance(text, str) for text in texts)


@dataclass
class Lease:
    """The right to run one cell, until it is released or `lost` to somebody who found the holder dead."""

    id: str
    number: int
    claims: "Claims"
    held: bool = True
    lost: bool = False
    progress: dict[str, Any] = field(default_factory=dict)  # told with the next heartbeat, for whoever looks on

    def check(self) -> None:
        """Find out whether it is lost."""
        with suppress(OSError):  # a file server that is away for a while
            self.lost = self.lost or self.claims.numbers(self.id)[-1:] != [self.number]


class Claims(Protocol):
    """Where claims are kept, so that all who share a store see them."""

    def cells(self) -> list[str]:
        """The cells that somebody has claimed."""

    def numbers(self, id: str) -> list[int]:
        """The claims of a cell, upwards."""

    def create(self, id: str, number: int, holder: Holder) -> bool:
        """Make a claim, unless there is one of this number."""

    def read(self, id: str, number: int) -> tuple[Holder | None, float]:
        """The holder and a number that changes with each heartbeat: 0 if it was released, inf if it is gone."""

    def beat(self, heart: str, told: dict[str, Any] | None) -> None:
        """A heartbeat, with what the cells report if that has changed."""

    def listen(self) -> dict[str, Any]:
        """What all hearts last told of their cells, the newest last."""

    def release(self, id: str, number: int) -> None:
        """Give a claim back."""

    def clear(self, id: str, number: int | None = None) -> None:
        """Remove a claim, or all that is kept of a cell."""

    def stop(self, heart: str) -> None:
        """Remove a heart."""

    def tidy(self) -> None:
        """Remove the hearts of processes known to have ended."""


class Leases:
    """The leases of one store. One thread keeps alive all that this object has claimed."""

    def __init__(
        self, root: str | Path, beat: float = BEAT, limit: float = LIMIT, claims: Claims | None = None
    ) -> None:
        self.folder, self.beat, self.limit = Path(root) / "leases", beat, limit
        self.claims: Claims = claims or Folder(self.folder)
        self.heart = ""
        self._held: dict[str, Lease] = {}
        self._told: dict[str, Any] = {}
        self._seen: dict[tuple[str, int], tuple[float, float]] = {}
        self._thread: threading.Thread | None = None

    def claim(self, id: str) -> Lease | None:
        """The lease of a cell, or None while somebody else who lives has it."""
        try:
            self._start()
            before = self.claims.numbers(id)
            if before and self._lives(id, before[-1]):
                return None
            lease = Lease(id, before[-1] + 1 if before else 1, self.claims)
            if not self.claims.create(id, lease.number, self._me()):
                return None
        except OSError as error:
            raise GottaError(
                f"cannot claim a run in '{self.folder}': {error.strerror or error}. "
                "Make room there or choose a folder that can be written."
            ) from error
        if self.claims.numbers(id) != [*before, lease.number]:  # it was cleared meanwhile: the cell is finished
            self.claims.clear(id, lease.number)
            return None
        self._held[id] = lease
        self.log("taken over" if before else "claimed", lease)
        return lease

    def holder(self, id: str) -> Holder | None:
        """Who is running a cell now, if anybody who lives is."""
        claims = self.claims.numbers(id)
        return self.claims.read(id, claims[-1])[0] if claims and self._lives(id, claims[-1]) else None

    def free(self, id: str) -> bool:
        """Whether nobody who lives has a cell. The claim of one found dead is given back for it, so that whoever looks
        for the first time need not watch its heart as long again."""
        claims = self.claims.numbers(id)
        if not claims or self.claims.read(id, claims[-1])[1] == 0:
            return True
        if self._lives(id, claims[-1]):
            return False
        if lease := self.claim(id):
            self.release(lease, "given back")
        return lease is not None

    def progress(self) -> dict[str, dict[str, Any]]:
        """How far cells are, by id, as their holders last told."""
        return {id: noted for id, noted in self.claims.listen().items() if is_progress(noted)}

    def release(self, lease: Lease, event: str, done: bool = False) -> None:
        """Give a lease back. Nobody needs the files of a `finished` cell; another one may be claimed at once."""
        lease.held = False
        self._held.pop(lease.id, None)
        self.log("lost" if lease.lost else event, lease)
        with suppress(OSError):
            if done or event == "finished":
                self.claims.clear(lease.id)
            else:
                self.claims.release(lease.id, lease.number)
            if not self._held:
                self.claims.stop(self.heart)

    def log(self, event: str, lease: Lease) -> None:
        """Add a line to the log of claims. The log is for looking back; a disk that refuses it stops nothing."""
        line = {"time": time.time(), "id": lease.id, "event": event, "number": lease.number, "pid": os.getpid()}
        try:
            own = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no link to elsewhere, no pipe
            handle = os.open(self.folder / "log.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT | own, 0o644)
            try:
                os.write(handle, (json.dumps({**line, "node": platform.node()}) + "\n").encode())
            finally:
                os.close(handle)
        except OSError:
            pass

    def history(self) -> Iterator[dict[str, Any]]:
        """The lines of the log; one that a full disk cut off is left out."""
        yield from read_log(self.folder)

    def _lives(self, id: str, number: int) -> bool:
        holder, sign = self.claims.read(id, number)
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

    def _me(self) -> Holder:
        pid = os.getpid()
        return Holder(platform.node(), machine(), pid, start_time(pid), secrets.token_hex(8), self.heart)

    def _start(self) -> None:
        """Let the heart beat; a process forked from another one needs its own."""
        if not self.heart.startswith(f".heart-{machine()}-{os.getpid()}-"):
            self.heart, self._held = f".heart-{machine()}-{os.getpid()}-{secrets.token_hex(4)}", {}
        if not self._held:
            self._told = {}
            self.claims.beat(self.heart, self._told)
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
            self.claims.beat(self.heart, None if told == self._told else told)
            self._told = told
        for lease in held:
            lease.check()


class Folder:
    """Claims as files of a folder that all see."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def cells(self) -> list[str]:
        found = sorted(self.path.iterdir()) if self.path.is_dir() else []
        return [path.name for path in found if path.is_dir() and not path.name.startswith(".")]

    def numbers(self, id: str) -> list[int]:
        return numbers(self.path / id)

    def create(self, id: str, number: int, holder: Holder) -> bool:
        (self.path / id).mkdir(parents=True, exist_ok=True)
        return _create(_file(self.path / id, number), json.dumps(asdict(holder)), holder.token)

    def read(self, id: str, number: int) -> tuple[Holder | None, float]:
        return read_claim(_file(self.path / id, number))

    def beat(self, heart: str, told: dict[str, Any] | None) -> None:
        path = self.path / heart
        if told is None and path.exists():
            os.utime(path)
            return
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            _replace(path, json.dumps(told or {}))
        except OSError:
            if not path.exists():
                raise
            os.utime(path)  # needs no room on a full disk

    def listen(self) -> dict[str, Any]:
        hearts = sorted((_last_beat(self.path, path.name), path.name) for path in self.path.glob(".heart-*"))
        return {id: noted for _, heart in hearts for id, noted in read_heart(self.path, heart).items()}

    def release(self, id: str, number: int) -> None:
        os.utime(_file(self.path / id, number), (0, 0))

    def clear(self, id: str, number: int | None = None) -> None:
        if number is None:
            shutil.rmtree(self.path / id, ignore_errors=True)
        else:
            _file(self.path / id, number).unlink(missing_ok=True)

    def stop(self, heart: str) -> None:
        (self.path / heart).unlink(missing_ok=True)

    def tidy(self) -> None:
        for path in self.path.glob(".heart-*"):
            match = HEART.fullmatch(path.name)
            if match and match["machine"] == machine() and not alive(int(match["pid"])):
                path.unlink(missing_ok=True)


def is_alive_here(holder: Holder | None) -> bool | None:
    """Whether a holder on this machine lives; None if it is elsewhere, or the machine does not say when it began."""
    if holder is None or holder.machine != machine():
        return None
    if not alive(holder.pid, holder.started):
        return False
    return True if holder.started else None


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:06}"


def numbers(folder: Path) -> list[int]:
    """The claims in a cell's folder. What is not called as a claim would be is none."""
    try:
        return sorted(int(name) for name in os.listdir(folder) if CLAIM.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):  # a file in its place shows when the cell is claimed
        return []


def read_claim(path: Path) -> tuple[Holder | None, float]:
    """The holder and when its heart last beat by the clock there: 0 if the claim was released, inf if it is gone.

    Opening asks a file server for now.
    """
    try:
        with open_plain(path) as file:
            text, touched = file.read(SMALL), os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return None, inf  # not ours to claim now
    except OSError:  # it cannot be read: its age decides, if it is a file at all
        return None, _last_touch(path)
    try:
        holder = Holder(**parse_json(text))
    except (ValueError, TypeError):  # being written, or damaged: its age decides
        return None, touched
    if not holder.is_somebody():
        return None, touched
    beat = _last_beat(path.parent.parent, holder.heart) if touched else 0.0
    return holder, beat or touched


def _last_beat(folder: Path, heart: str) -> float:
    """When a heart last beat, by the clock of the file system; 0 if there is none of that name."""
    try:
        with open_plain(folder / heart) as file:
            return os.fstat(file.fileno()).st_mtime if HEART.fullmatch(heart) else 0.0
    except OSError:
        return 0.0


def read_heart(folder: Path, heart: str) -> dict[str, Any]:
    """What a holder told with its last heartbeat, by cell; nothing where that cannot be read."""
    try:
        told = read_json(folder / heart, LOG) if HEART.fullmatch(heart) else {}
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """The last lines of the log of claims, oldest first; broken lines are left out."""
    try:
        with open_plain(folder / "log.jsonl") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LOG))
            lines = file.read(LOG).splitlines()
    except OSError:
        return
    for line in lines:
        try:
            entry = parse_json(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("time", 0.0), int | float):
            yield entry


def is_progress(noted: Any) -> TypeGuard[dict[str, Any]]:
    """Whether this is what a holder notes of its progress."""
    if not isinstance(noted, dict) or not all(type(noted.get(name)) is int for name in ("step", "steps")):
        return False
    numbers = len(noted) == 3 and isinstance(noted.get("accuracy"), int | float)
    return numbers and 0 <= noted["step"] <= noted["steps"]


def _last_touch(path: Path) -> float:
    try:
        status = path.lstat()
    except OSError:
        return inf
    known = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return status.st_mtime if known else 0.0  # a link or a pipe has no heart


def _create(path: Path, content: str, token: str) -> bool:
    """Make a file with all its content, unless it is there: a hard link is exclusive on file servers as well."""
    aside = path.parent / f".{token}"
    try:
        aside.write_text(content, encoding="utf-8")
        try:
            os.link(aside, path)
        except OSError as error:
            if aside.stat().st_nlink == 2:  # done, though the server's answer was lost
                return True
            if error.errno == errno.EEXIST:
                return False
            if error.errno not in NO_LINKS:
                raise
            return _create_directly(path, content)
        return True
    except FileNotFoundError:  # the folder was cleared meanwhile
        return False
    finally:
        aside.unlink(missing_ok=True)


def _create_directly(path: Path, content: str) -> bool:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


def _replace(path: Path, content: str) -> None:
    aside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        aside.write_text(content, encoding="utf-8")
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
