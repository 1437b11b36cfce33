"""Who runs which cell: files that are claimed atomically, kept alive by a heartbeat, and taken over from the dead.

`leases/<id>/` holds one file per claim, numbered upwards. The highest number is the holder. A claim is the exclusive
creation of the next number, so of many who see a dead holder exactly one takes over, and no file is ever taken away
under somebody who relies on it.
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
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.sweep.processes import alive, machine, start_time
from gotta.reading import open_plain, parse_json, read_json

BEAT = 5.0  # seconds between two heartbeats
LIMIT = 60.0  # seconds without a heartbeat after which a holder on another machine counts as dead
PROGRESS = "progress.json"
CLAIM = re.compile("[0-9]{6}|[1-8][0-9]{6,8}")
SMALL = 1 << 16  # bytes of a claim or a note
LOG = 1 << 24  # bytes of the log that are looked at
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True)
class Holder:
    """Who holds a lease, as its file says it."""

    node: str
    machine: str
    pid: int
    started: str
    token: str

    def is_somebody(self) -> bool:
        """Whether these are a name, a process id and so on, whoever wrote them."""
        texts = (self.node, self.machine, self.started, self.token)
        return type(self.pid) is int and 0 < self.pid < 1 << 31 and all(isinstance(text, str) for text in texts)


@dataclass
class Lease:
    """The right to run one cell, until it is released or `lost` to somebody who found the holder dead."""

    id: str
    path: Path
    number: int
    held: bool = True
    lost: bool = False
    progress: dict[str, Any] = field(default_factory=dict)  # written with the next heartbeat, for whoever looks on

    def renew(self) -> None:
        try:
            os.utime(self.path)
            self.lost = self.lost or _file(self.path.parent, self.number + 1).exists()
        except FileNotFoundError:
            self.lost = True
        except OSError:  # a file server that is away for a while
            return
        if self.progress and not self.lost:
            _replace_quietly(self.path.parent / PROGRESS, json.dumps(self.progress))


class Leases:
    """The leases of one store. One thread keeps alive all that this object has claimed."""

    def __init__(self, root: str | Path, beat: float = BEAT, limit: float = LIMIT) -> None:
        self.folder, self.beat, self.limit = Path(root) / "leases", beat, limit
        self._held: dict[str, Lease] = {}
        self._heart: threading.Thread | None = None

    def claim(self, id: str) -> Lease | None:
        """The lease of a cell, or None while somebody else who lives has it."""
        folder = self.folder / id
        me = Holder(platform.node(), machine(), os.getpid(), start_time(os.getpid()), secrets.token_hex(8))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            before = numbers(folder)
            if before and self._lives(_file(folder, before[-1])):
                return None
            lease = Lease(id, _file(folder, before[-1] + 1 if before else 1), before[-1] + 1 if before else 1)
            if not _create(lease.path, json.dumps(asdict(me)), me.token):
                return None
        except OSError as error:
            raise GottaError(
                f"cannot claim a run in '{self.folder}': {error.strerror or error}. "
                "Make room there or choose a folder that can be written."
            ) from error
        if numbers(folder) != [*before, lease.number]:  # the folder was cleared meanwhile: the cell is finished
            lease.path.unlink(missing_ok=True)
            return None
        self._held[id] = lease
        self._start()
        self.log("taken over" if before else "claimed", lease)
        return lease

    def holder(self, id: str) -> Holder | None:
        """Who is running a cell now, if anybody who lives is."""
        claims = numbers(self.folder / id)
        path = _file(self.folder / id, claims[-1]) if claims else None
        return read_claim(path)[0] if path and self._lives(path) else None

    def progress(self, id: str) -> dict[str, Any]:
        """What the holder last noted about its progress."""
        try:
            noted = read_json(self.folder / id / PROGRESS, SMALL)
        except (OSError, ValueError):
            return {}
        return noted if is_progress(noted) else {}

    def release(self, lease: Lease, event: str, done: bool = False) -> None:
        """Give a lease back. Nobody needs the files of a `finished` cell; another one may be claimed at once."""
        lease.held = False
        self._held.pop(lease.id, None)
        self.log("lost" if lease.lost else event, lease)
        if done or event == "finished":
            shutil.rmtree(lease.path.parent, ignore_errors=True)
        else:
            with suppress(OSError):
                os.utime(lease.path, (0, 0))  # needs no room on a full disk

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

    def _lives(self, path: Path) -> bool:
        holder, touched = read_claim(path)
        if touched == 0:  # released
            return False
        if holder is not None and holder.machine == machine() and not alive(holder.pid, holder.started):
            return False
        # A time to come is as far from a heartbeat as one long ago: the clock was set back since.
        return touched == inf or abs(self._now() - touched) <= self.limit

    def _now(self) -> float:
        """The time by the clock that stamps the files, which on a file server is not this machine's."""
        probe = self.folder / f".clock-{secrets.token_hex(8)}"
        try:
            probe.touch()
            now = probe.stat().st_mtime
            probe.unlink()
        except OSError:
            return time.time()
        return now

    def _start(self) -> None:
        if self._heart is None or not self._heart.is_alive():
            self._heart = threading.Thread(target=self._beat, name="leases", daemon=True)
            self._heart.start()

    def _beat(self) -> None:
        while True:
            time.sleep(self.beat)
            for lease in list(self._held.values()):
                lease.renew()


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number:06}"


def numbers(folder: Path) -> list[int]:
    """The claims in a cell's folder. What is not called as a claim would be is none."""
    try:
        return sorted(int(name) for name in os.listdir(folder) if CLAIM.fullmatch(name))
    except (FileNotFoundError, NotADirectoryError):  # a file in its place shows when the cell is claimed
        return []


def read_claim(path: Path) -> tuple[Holder | None, float]:
    """The holder and the time of the last heartbeat, 0 if it never had one. Opening asks a file server for now."""
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
    return holder if holder.is_somebody() else None, touched


def read_log(folder: Path) -> Iterator[dict[str, Any]]:
    """The last lines of the log of claims, oldest first; what a full disk cut off, or is no line, is left out."""
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


def is_progress(noted: Any) -> bool:
    """Whether this is what a holder notes of its progress."""
    if not isinstance(noted, dict) or not all(type(noted.get(name)) is int for name in ("step", "steps")):
        return False
    return 0 <= noted["step"] <= noted["steps"] and isinstance(noted.get("accuracy"), int | float)


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


def _replace_quietly(path: Path, content: str) -> None:
    aside = path.with_name(f".{path.name}-{secrets.token_hex(4)}")
    try:
        aside.write_text(content, encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
