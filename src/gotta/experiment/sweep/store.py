"""One folder per finished run, written aside and renamed: what is there is complete, and enough for a report."""

import errno
import json
import os
import re
import secrets
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.spec.identity import FORMAT, hash_of, run_id
from gotta.experiment.sweep.bucket import bucket_of, pack, place_of, unpack
from gotta.experiment.sweep.processes import alive, machine
from gotta.files import digest, sync_folder, write_lines
from gotta.json_yaml import open_plain, parse_json, plain, read_bytes

SECTIONS = ("spec", "summary", "environment", "identity", "recipe")  # of a run; the last if one asked for it
FILES = {section: f"{section}.json" for section in SECTIONS}
STEPS = "steps.jsonl"
PACKED = ".tar.gz"  # a run in object storage
FOLDERS = ("runs", "leases", "snapshots", "records", "figures")  # what is written below the root
CHECKSUM = "checksum"  # stands in the summary: the sha256 of each file, and of the summary without it
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=-]*")
ASIDE = re.compile(r"\.(?P<id>.+)\.tmp-(?P<pid>\d+)-(?P<host>[0-9a-f]{8})-[0-9a-f]+")
A_DAY = 86_400.0
WHOLE = {"seed": 0, "control": None, "guard": None}  # settings outside of sections, and what they usually are
IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.ENOTDIR)
_being_written: set[str] = set()  # names of folders, unique by their last part


@dataclass(frozen=True)
class Run:
    """A finished run as the store holds it."""

    id: str
    spec: dict[str, Any]
    summary: dict[str, Any]
    environment: dict[str, Any]
    folder: Path | None = field(default=None, repr=False)
    identity: dict[str, Any] = field(default_factory=dict, repr=False)
    recipe: dict[str, Any] = field(default_factory=dict, repr=False)
    finished: float | None = field(default=None, repr=False)  # when it was stored, in seconds since 1970

    @property
    def has_steps(self) -> bool:
        """Are there records of its steps? Lines that are kept have none."""
        return self.folder is not None and (self.folder / STEPS).stat().st_size > 0

    def steps(self) -> Iterator[dict[str, Any]]:
        """The records of the steps, read one by one."""
        if self.folder is None:
            return
        try:
            with open_plain(self.folder / STEPS) as lines:
                yield from map(_read_object, lines)
        except (OSError, ValueError) as error:
            raise unreadable_steps(self.folder, error) from error


class Store:
    """The runs below `root`, a folder or an address of object storage.

    With `writable` the folder is made and tried at once, before anything is computed.
    """

    def __init__(self, root: str | Path, writable: bool = False) -> None:
        self.root = place_of(root)
        self.bucket = bucket_of(self.root)
        self.address = str(self.root) if self.bucket is None else self.bucket.address  # what people call it
        self.folder = self.root / "runs"
        for path in (self.root, self.folder):
            if path.exists() and not path.is_dir():
                raise GottaError(f"'{path}' is a file; results need a folder. Name another one.")
        if writable:
            self.check_folders()
            self._try_to_write()

    def check_folders(self) -> None:
        """Raises where something written into the store would end up elsewhere."""
        for name in FOLDERS:
            if (path := self.root / name).is_symlink():
                raise GottaError(f"'{path}' is a link, so what is written there ends up elsewhere. Make it a folder.")

    def has(self, id: str) -> bool:
        """Is the run complete, unchanged, and of this format?"""
        try:
            self._load(id)
        except DamagedRun:
            return False
        return True

    def read(self, id: str) -> Run:
        try:
            return self._load(id)
        except DamagedRun as problem:
            told = f"run '{id}' in '{self.folder}' cannot be read: {problem}"
            raise GottaError(f"{told}. Delete its folder if it is there and run it again.") from problem

    def scan(self) -> Iterator[tuple[str, Run | str]]:
        """Each run by id, or why it cannot be read."""
        for name in [] if self.bucket is None else self.bucket.names("runs"):
            self._fetch(name.removesuffix(PACKED))
        for path in _children(self.folder):
            if (path.is_dir() or path.is_symlink()) and not path.name.startswith("."):
                try:
                    yield path.name, self._load(path.name) if NAME.fullmatch(path.name) else "no run has such a name"
                except DamagedRun as problem:
                    yield path.name, str(problem)

    def runs(self) -> list[Run]:
        """Every readable run, by id; `damaged` names the others."""
        return [found for _, found in self.scan() if isinstance(found, Run)]

    def damaged(self) -> list[tuple[str, str]]:
        """The id of each run that cannot be read, with the reason."""
        return [(id, found) for id, found in self.scan() if isinstance(found, str)]

    def write(self, run: Run, steps: Iterable[Mapping[str, Any]]) -> bool:
        """Store a finished run. If a complete one has its id already it stays, this one is dropped: False."""
        aside = self.folder / _aside_name(_check_id(run.id))
        _being_written.add(aside.name)
        try:
            aside.mkdir(parents=True)
            write_lines(aside / STEPS, (json.dumps(plain(step), allow_nan=False) for step in steps))
            for section, file in FILES.items():
                if section != "summary" and (section != "recipe" or run.recipe):
                    _write_document(aside / file, getattr(run, section))
            told = plain(run.summary)
            _write_document(aside / FILES["summary"], {**told, CHECKSUM: _checksum(aside, told)})
            sync_folder(aside)
            return self._share(aside, run.id) and self._publish(aside, run.id)
        except OSError as error:
            what = f"run '{run.id}' could not be written to '{self.folder}': {error.strerror or error}"
            raise GottaError(f"{what}. Make room and start again: finished runs are kept.") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
            _being_written.discard(aside.name)

    def sweep_leftovers(self) -> None:
        """Remove what killed processes left half-written. What may still be written stays."""
        for path in _children(self.folder):
            match = ASIDE.fullmatch(path.name)
            if match and path.name not in _being_written and _is_abandoned(path, int(match["pid"]), match["host"]):
                shutil.rmtree(path, ignore_errors=True)

    def _try_to_write(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
            if self.bucket is not None:
                self.bucket.is_exclusive()
        except OSError as error:
            why = f"{error.strerror or error}. Name a folder that can be written"
            raise GottaError(f"cannot write to '{self.address}': {why}.") from error

    def _share(self, aside: Path, id: str) -> bool:
        """Let all have a run, unless they have it. Whoever is killed after this fetches it again."""
        if self.bucket is None or self.bucket.create(f"runs/{id}{PACKED}", pack(aside)):
            return True
        if self.has(id):
            return False
        self.bucket.replace(f"runs/{id}{PACKED}", pack(aside))  # a damaged one
        return True

    def _fetch(self, id: str) -> None:
        """Take over a run that others have stored, if there is one."""
        final = self.folder / id
        if self.bucket is None or not NAME.fullmatch(id) or final.exists():
            return
        aside = self.folder / _aside_name(id)
        try:
            if found := self.bucket.read(f"runs/{id}{PACKED}"):
                aside.mkdir(parents=True)
                with suppress(tarfile.TarError, EOFError, zlib.error):  # damaged, which shows when it is read
                    unpack(found[0], aside, (*FILES.values(), STEPS))
                with suppress(FileExistsError):
                    aside.rename(final)
        except OSError as error:
            if not final.exists():
                raise GottaError(f"cannot read from '{self.address}': {error.strerror or error}.") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)

    def _publish(self, aside: Path, id: str) -> bool:
        final = self.folder / id
        try:
            aside.rename(final)
        except OSError as error:
            if error.errno not in IN_THE_WAY or not final.exists():
                raise
            if self.has(id):
                return False
            self._replace_damaged(aside, final)
        sync_folder(self.folder)
        return True

    def _replace_damaged(self, aside: Path, final: Path) -> None:
        old = self.folder / _aside_name(final.name)
        final.rename(old)
        aside.rename(final)
        if old.is_dir() and not old.is_symlink():
            shutil.rmtree(old, ignore_errors=True)
        else:
            old.unlink(missing_ok=True)

    def _load(self, id: str) -> Run:
        folder = self.folder / _check_id(id)
        self._fetch(id)
        if folder.is_symlink():
            raise DamagedRun("it is a link, not a folder")
        if not folder.is_dir():
            raise DamagedRun("there is no such run")
        there = {name: folder / file for name, file in FILES.items() if name != "recipe" or (folder / file).exists()}
        sections = {name: _load_document(path) for name, path in there.items()}
        with _reading(folder / STEPS), open_plain(folder / STEPS):  # a pipe would be waited for
            pass
        run = checked(Run(id, **sections, folder=folder, finished=there["spec"].stat().st_mtime))
        _check_content(folder, run.summary)
        return run


def unreadable_steps(folder: Path, error: Exception) -> GottaError:
    """Of a file of the right size with wrong bytes, which shows only when somebody reads it."""
    return GottaError(f"{STEPS} of run '{folder.name}' cannot be read: {error}. Delete '{folder}' and run it again.")


class DamagedRun(Exception):
    """Why a folder, or a line, is not a complete run."""


def checked(run: Run) -> Run:
    """The run, if it is of this format and has results and the name that its content gives it."""
    if (found := run.identity.get("format")) != FORMAT:
        raise DamagedRun(f"it is of format {found}, and this version of gotta reads format {FORMAT}")
    if not isinstance(run.summary.get("online", {}), dict):
        raise DamagedRun("its summary has no results under 'online'")
    _check_name(run.id, run.identity)
    settings = run.identity.get("settings", {})
    if not isinstance(settings, dict) or not _agrees(run.spec, settings):
        raise DamagedRun("its spec is not that of its name: it was edited")
    return run


def _agrees(spec: Mapping[str, Any], settings: Mapping[str, Any]) -> bool:
    """Whether a spec says what the name of its run covers."""
    told = {name: settings.get(name, default) for name, default in WHOLE.items()} | dict(settings)
    return all(
        all(spec[name].get(key) == one for key, one in value.items())
        if isinstance(value, dict) and isinstance(spec.get(name), dict)
        else spec.get(name) == value
        for name, value in told.items()
    )


def _check_id(id: str) -> str:
    if not NAME.fullmatch(id):
        raise GottaError(f"run id '{id}' is not a folder name. Use letters, digits and . _ + = - only.")
    return id


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What keeps a file of a run from being read says that the run is damaged."""
    try:
        yield
    except FileNotFoundError:
        raise DamagedRun(f"{path.name} is missing") from None
    except OSError as error:
        raise DamagedRun(f"{path.name} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise DamagedRun(f"{path.name} is not valid JSON ({error})") from error


def _load_document(path: Path) -> dict[str, Any]:
    with _reading(path):
        return _read_object(read_bytes(path))


def _read_object(text: bytes) -> dict[str, Any]:
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it holds no object")
    return found


def _write_document(path: Path, content: Mapping[str, Any]) -> None:
    write_lines(path, [json.dumps(plain(content), indent=2, allow_nan=False)])


def _check_name(id: str, identity: Mapping[str, Any]) -> None:
    if (own := run_id(identity)) != id:
        raise DamagedRun(f"what it holds is run {own}: it was renamed, copied or edited")


def _check_content(folder: Path, summary: dict[str, Any]) -> None:
    """Compare the files with the checksum, and leave it out of what the summary tells."""
    noted, now = summary.pop(CHECKSUM, None), _checksum(folder, summary)
    if not isinstance(noted, dict):
        raise DamagedRun("summary.json has no checksum")
    changed = sorted(name for name in {**noted, **now} if noted.get(name) != now.get(name))
    if changed:
        raise DamagedRun(f"{', '.join(changed)} changed after it was stored")


def _checksum(folder: Path, summary: dict[str, Any]) -> dict[str, str]:
    names = [name for name in (*FILES.values(), STEPS) if name != "summary.json" and (folder / name).exists()]
    return {name: digest(folder / name) for name in names} | {"summary.json": hash_of(summary)}


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda path: path.name) if folder.is_dir() else []


def _aside_name(id: str) -> str:
    return f".{id}.tmp-{os.getpid()}-{machine()}-{secrets.token_hex(4)}"


def _is_abandoned(path: Path, pid: int, host: str) -> bool:
    """Process ids say nothing about another machine, and are used again: there, a day without a change decides."""
    if host == machine() and (pid == os.getpid() or not alive(pid)):
        return True
    try:
        return time.time() - path.stat().st_mtime > A_DAY
    except OSError:  # its writer has finished meanwhile
        return False
