"""Fetching one file over HTTP: taken up where it stopped, and put in place only when size and checksum are right."""

import errno
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from gotta.data.local.remote import Answer, Dropped, Note, Remote, ask, page
from gotta.errors import GottaError
from gotta.files import check_writable
from gotta.json_yaml import open_plain, read_json

PART = ".part"
HEAD = 512  # bytes that show whether something else stands in the place of a file
LFS = b"version https://git-lfs"
PAGES = (b"<!doctype html", b"<html", b"<?xml", b"<head", b"<!--")
Progress = Callable[[int, int | None], None]  # bytes there, bytes in all


def fetch(
    remote: Remote,
    folder: Path,
    progress: Progress = lambda done, total: None,
    tries: int = 5,
    wait: float = 1.0,
) -> Path:
    """The file in the folder, fetched if it is not there. A connection that drops is taken up again so many times."""
    target, part = folder / remote.name, folder / (remote.name + PART)
    if target.exists():
        return _accept(remote, target)
    check_writable(target)
    for attempt in range(1, tries + 1):
        before = _length(part)
        try:
            _receive(remote, part, progress)
            break
        except Dropped as error:
            if attempt == tries:
                raise GottaError(
                    f"{remote.name}: {error}. {_length(part):,} bytes are kept; run the command again to go on."
                ) from None
            time.sleep(0.0 if _length(part) > before else wait * attempt)
    _verify(remote, part)
    part.replace(target)
    _note(part).unlink(missing_ok=True)
    return target


def _accept(remote: Remote, target: Path) -> Path:
    try:
        with open_plain(target, links=True) as file:
            wrong = not_data(file.read(HEAD)) or _other_size(remote, target) or _other_content(remote, target)
    except OSError as error:
        wrong = f"cannot be read: {error.strerror or error}"
    if wrong:
        raise GottaError(f"{target} is there but {wrong}. Remove it and run the command again.")
    return target


def not_data(head: bytes) -> str:
    """Whether these first bytes are a web page or a pointer in place of the data."""
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith(PAGES):
        return "is a web page, not the file: the server answered with an error or a question"
    if head.startswith(LFS):
        return "is a Git LFS pointer, not the file: run git lfs pull where it came from"
    return ""


def _receive(remote: Remote, part: Path, progress: Progress) -> None:
    """Append what is missing to the part file."""
    have = _length(part)
    if remote.size is not None and have == remote.size:
        return
    if remote.size is not None and have > remote.size:
        _discard(part)
        have = 0
    note = _read_note(part) if have else {}
    answer = ask(remote, have, note)
    if answer is None:
        _discard(part)
        raise Dropped("the part fetched before is not shorter than the file on the server, so it is fetched again")
    with closing(answer.body):
        if remote.size is not None and answer.total is not None and answer.total != remote.size:
            raise GottaError(
                f"{remote.name}: the server offers {answer.total:,} bytes, expected {remote.size:,}. "
                f"Nothing was fetched: there is another file at {remote.address} now."
            )
        if answer.start and not answer.continues(have, note):
            _discard(part)
            raise Dropped("the file on the server has changed, so it is fetched anew")
        _need_space(remote, part, (answer.total or remote.size or 0) - answer.start)
        _copy(remote, answer, part, progress)


def _copy(remote: Remote, answer: Answer, part: Path, progress: Progress) -> None:
    done, total = answer.start, answer.total or remote.size
    piece = answer.piece()
    if done == 0 and (wrong := not_data(piece)):
        raise GottaError(page(remote) if "web page" in wrong else f"{remote.name}: what the server sends {wrong}.")
    try:
        _note(part).write_text(json.dumps(answer.note))
        with part.open("ab" if done else "wb") as file:
            while piece:
                file.write(piece)
                done += len(piece)
                progress(done, total)
                piece = answer.piece()
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise _explain_stop(remote, part, error) from None
    if total is not None and done < total:
        raise Dropped(f"the connection ended after {done:,} of {total:,} bytes")


def _need_space(remote: Remote, part: Path, more: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if more > free:
        raise GottaError(
            f"{remote.name} needs {more:,} more bytes, but {part.parent} has {free:,} free. "
            f"Make room, or choose another folder with --data-dir."
        )


def _explain_stop(remote: Remote, part: Path, error: OSError) -> GottaError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        kept = f"{_length(part):,} bytes of {remote.name} are kept"
        return GottaError(f"the disk of {part.parent} is full. {kept}; make room and run the command again.")
    return GottaError(f"cannot write {part}: {error.strerror or error}. Choose another folder with --data-dir.")


def _verify(remote: Remote, part: Path) -> None:
    """Only a file that is as published is put in place; fetching more would not put another one right."""
    wrong = _other_size(remote, part) or _other_content(remote, part)
    if wrong:
        _discard(part)
        raise GottaError(f"{remote.name}: {wrong}. It was removed; run the command again, or fetch it elsewhere.")


def _other_size(remote: Remote, path: Path) -> str:
    length = _length(path)
    return "" if remote.size in (None, length) else f"has {length:,} bytes, expected {remote.size:,}"


def _other_content(remote: Remote, path: Path) -> str:
    """How the checksum differs from the published one, if there is one and it does."""
    for algorithm, wanted in (("sha256", remote.sha256), ("md5", remote.md5)):
        if not wanted:
            continue
        with path.open("rb") as file:
            found = hashlib.file_digest(file, partial(hashlib.new, algorithm, usedforsecurity=False)).hexdigest()
        if found != wanted:
            return f"the {algorithm} is {found}, expected {wanted}"
    return ""


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _read_note(part: Path) -> Note:
    try:
        read = read_json(_note(part))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _discard(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)
