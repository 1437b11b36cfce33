"""Fetching one archive over HTTP: taken up where it stopped, and put in place only when size and checksum are right.

Each archive of the catalogue has a published size and checksum, by which a mix of two files is found out at the end.
"""

import errno
import hashlib
import http.client
import os
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

from gotta.data.local.catalogue import Form
from gotta.errors import GottaError
from gotta.files import HEAD, check_writable, not_data
from gotta.json_yaml import open_plain

PART = ".part"
PATIENCE = 60.0  # seconds without a byte
BUSY = (429, 500, 502, 503, 504)
PIECE = 1 << 20
PAGE = "the server sent a web page instead of the file"
Progress = Callable[[int, int | None], None]  # bytes there, bytes in all
Answer = http.client.HTTPResponse


class Dropped(Exception):
    """The connection ended early; what arrived is kept and can be continued."""


def fetch(
    form: Form,
    folder: Path,
    progress: Progress = lambda done, total: None,
    tries: int = 5,
    wait: float = 1.0,
) -> Path:
    """The file in the folder, fetched if it is not there. A connection that drops is taken up again so many times."""
    target, part = folder / form.name, folder / (form.name + PART)
    if target.exists():
        return _accept(form, target)
    check_writable(target)
    for attempt in range(1, tries + 1):
        before = _length(part)
        try:
            _receive(form, part, progress)
            break
        except Dropped as error:
            if attempt == tries:
                kept = f"{_length(part):,} bytes are kept; run the command again to go on."
                raise GottaError(f"{form.name}: {error}. {kept}") from None
            time.sleep(0.0 if _length(part) > before else wait * attempt)
    if wrong := _difference(form, part):  # fetching more would not put it right
        part.unlink()
        raise GottaError(f"{form.name}: {wrong}. It was removed; run the command again, or fetch it elsewhere.")
    part.replace(target)
    return target


def host(address: str) -> str:
    return address.split("/")[2]


def _accept(form: Form, target: Path) -> Path:
    try:
        wrong = _difference(form, target)
    except OSError as error:
        wrong = f"cannot be read: {error.strerror or error}"
    if wrong:
        raise GottaError(f"{target} is there but {wrong}. Remove it and run the command again.")
    return target


def _receive(form: Form, part: Path, progress: Progress) -> None:
    """Append what is missing to the part file."""
    have = _length(part)
    if have > form.size:
        part.unlink()
        have = 0
    if have == form.size:
        return
    with closing(_ask(form, have)) as answer:
        continued = answer.status == 206  # a server that ignores ranges begins anew
        length = answer.headers.get("Content-Range" if continued else "Content-Length", "").rpartition("/")[2]
        if length.isascii() and length.isdigit() and int(length[:20]) != form.size:
            told = f"{form.name}: the server offers {int(length[:20]):,} bytes, expected {form.size:,}"
            raise GottaError(f"{told}. Nothing was fetched: there is another file at {form.address} now.")
        start = have if continued else 0
        if form.size - start > (free := shutil.disk_usage(part.parent).free):
            told = f"{form.name} needs {form.size - start:,} more bytes, but {part.parent} has {free:,} free"
            raise GottaError(f"{told}. Make room, or choose another folder with --data-dir.")
        _copy(form, answer, start, part, progress)


def _ask(form: Form, have: int) -> Answer:
    """What the server answers to a request for the bytes from `have` on."""
    headers = {"User-Agent": "gotta", "Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        answer: Answer = urllib.request.urlopen(urllib.request.Request(form.address, headers=headers), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in BUSY:
            raise Dropped(f"the server is busy (HTTP {error.code})") from None
        raise GottaError(_explain(form, f"the server says HTTP {error.code} {error.reason}")) from None
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"no connection to {host(form.address)}: {_reason(error)}") from None
    if answer.headers.get_content_type() == "text/html":
        answer.close()
        raise GottaError(_explain(form, PAGE))
    return answer


def _copy(form: Form, answer: Answer, done: int, part: Path, progress: Progress) -> None:
    piece = _read(answer)
    if done == 0 and (wrong := not_data(piece)):
        raise GottaError(_explain(form, PAGE if "web page" in wrong else f"what the server sends {wrong}"))
    try:
        with part.open("ab" if done else "wb") as file:
            while piece:
                file.write(piece)
                done += len(piece)
                progress(done, form.size)
                piece = _read(answer)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            told = f"cannot write {part}: {error.strerror or error}. Choose another folder with --data-dir."
            raise GottaError(told) from None
        kept = f"{_length(part):,} bytes of {form.name} are kept"
        raise GottaError(f"the disk of {part.parent} is full. {kept}; make room and run the command again.") from None
    if done < form.size:
        raise Dropped(f"the connection ended after {done:,} of {form.size:,} bytes")


def _read(answer: Answer) -> bytes:
    """The next bytes; none at the end."""
    try:
        return answer.read(PIECE)
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"the connection broke: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error or type(error).__name__)


def _explain(form: Form, wrong: str) -> str:
    way_out = f"Open {form.address} in a browser to see why, and put the file into the data folder by hand."
    return f"{form.name}: {wrong}. Nothing of it was kept. {way_out}"


def _difference(form: Form, path: Path) -> str:
    """How a file differs from the published one, if it does."""
    with open_plain(path, links=True) as file:
        if wrong := not_data(file.read(HEAD)):
            return wrong
        if (length := _length(path)) != form.size:
            return f"has {length:,} bytes, expected {form.size:,}"
        algorithm, wanted = ("sha256", form.sha256) if form.sha256 else ("md5", form.md5)
        file.seek(0)
        found = hashlib.file_digest(file, partial(hashlib.new, algorithm, usedforsecurity=False)).hexdigest()
        return f"the {algorithm} is {found}, expected {wanted}" if found != wanted else ""


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
