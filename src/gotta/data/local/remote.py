"""Asking a server for a file from some byte on, and understanding the many ways it may answer."""

import http.client
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from gotta.errors import GottaError

PATIENCE = 60.0  # seconds without a byte
BUSY = (429, 500, 502, 503, 504)
PIECE = 1 << 20
Note = dict[str, Any]  # what is remembered of the file that a part belongs to


@dataclass(frozen=True)
class Remote:
    """A file to fetch; what is not known of it is empty and not compared."""

    address: str
    name: str
    size: int | None = None
    md5: str = ""
    sha256: str = ""


class Dropped(Exception):
    """The connection ended early; what arrived is kept and can be continued."""


@dataclass(frozen=True)
class Answer:
    """What the server sends: from byte `start` on, of `total` bytes if it says so."""

    body: http.client.HTTPResponse
    start: int
    total: int | None

    @property
    def note(self) -> Note:
        return {"etag": self.body.headers.get("ETag"), "total": self.total}

    def piece(self) -> bytes:
        """The next bytes; none at the end."""
        try:
            return self.body.read(PIECE)
        except (OSError, http.client.HTTPException) as error:
            raise Dropped(f"the connection broke: {reason(error)}") from None

    def continues(self, have: int, note: Note) -> bool:
        """Whether this goes on exactly where a part of the same file ends."""
        same = all(not note.get(key) or not value or note[key] == value for key, value in self.note.items())
        return self.start == have and same


def ask(remote: Remote, have: int = 0, note: Note | None = None) -> Answer | None:
    """The file from byte `have` on, or from its beginning; None where the server has no such byte."""
    headers = {"User-Agent": "gotta", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
        tag = str((note or {}).get("etag") or "")
        if tag and not tag.startswith("W/"):  # a weak tag promises too little to continue on
            headers["If-Range"] = tag
    try:
        body = urllib.request.urlopen(urllib.request.Request(remote.address, headers=headers), timeout=PATIENCE)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            return None
        raise _explain_refusal(remote, error.code, str(error.reason)) from None
    except (OSError, http.client.HTTPException) as error:
        raise Dropped(f"no connection to {host(remote.address)}: {reason(error)}") from None
    if body.headers.get_content_type() == "text/html":
        body.close()
        raise GottaError(page(remote))
    return Answer(body, *_extent(body, have))


def host(address: str) -> str:
    return address.split("/")[2]


def page(remote: Remote) -> str:
    """The complaint about a web page in place of the file."""
    return (
        f"{remote.name}: the server sent a web page instead of the file. Nothing of it was kept. Open {remote.address} "
        f"in a browser to see what it asks, and put the file into the data folder by hand."
    )


def reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or getattr(error, "strerror", None) or error or type(error).__name__)


def _explain_refusal(remote: Remote, code: int, why: str) -> Exception:
    if code in BUSY:
        return Dropped(f"the server is busy (HTTP {code})")
    return GottaError(
        f"{remote.name}: the server says HTTP {code} {why} for {remote.address}. "
        f"Look there with a browser, and put the file into the data folder by hand."
    )


def _extent(body: http.client.HTTPResponse, have: int) -> tuple[int, int | None]:
    """Where the answer begins and how long the whole file is; a server that ignores ranges begins at 0."""
    if body.status != 206:
        length = body.headers.get("Content-Length", "")
        return 0, _number(length)
    begin, _, rest = body.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")
    total = rest.partition("/")[2]
    start = _number(begin)
    return have if start is None else start, _number(total)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else None
