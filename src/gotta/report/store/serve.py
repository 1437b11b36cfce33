"""The report served while a sweep runs: the same page, built anew when the runs change. Reads only."""

import hashlib
import json
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit

from gotta.errors import GottaError
from gotta.experiment.run.memory_film import FOLDER, record_path
from gotta.experiment.sweep.kept import Kept, open_runs
from gotta.experiment.sweep.store import NAME, Store
from gotta.json_yaml import read_bytes
from gotta.report.page.webpage import page
from gotta.report.results import read_results
from gotta.report.store.status import look

FRESH = 2.0  # seconds for which a look at the store is good enough
HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}
Answer = tuple[str, bytes]  # the kind of content, and the content


class Served:
    """A store as a page, its state and its recordings. Several requests may ask at once."""

    def __init__(self, root: str | Path) -> None:
        if isinstance(open_runs(root), Kept):
            raise GottaError(f"'{root}' holds kept runs, which do not change. Use: gotta report {root}")
        self.store = Store(root)
        self._lock = Lock()
        self._page: tuple[str, bytes] = "", b""
        self._state: tuple[float, bytes] = float("-inf"), b""

    def answer(self, path: str) -> Answer | None:
        """What lies at this path; None if nothing does."""
        if path in ("/", "/index.html"):
            return "text/html; charset=utf-8", self.page()
        if path == "/state.json":
            return "application/json", self.state()
        folder, _, name = path.removeprefix("/").partition("/")
        id = name.removesuffix(".json")
        if folder == FOLDER and name.endswith(".json") and NAME.fullmatch(id):
            with suppress(OSError):
                return "application/json", read_bytes(record_path(self.store.root, id))
        return None

    def page(self) -> bytes:
        """Built anew only when a run or a recording came or went."""
        with self._lock:
            version = self.version()
            if self._page[0] != version:
                self._page = version, page(read_results(self.store), live=True).encode()
            return self._page[1]

    def state(self) -> bytes:
        """The version of the page, and in words how far the sweep is."""
        with self._lock:
            if monotonic() - self._state[0] > FRESH:
                content = json.dumps({"page": self.version(), "text": progress(self.store)})
                self._state = monotonic(), content.encode()
            return self._state[1]

    def version(self) -> str:
        """Finished runs never change, so their names tell; recordings may be made again."""
        digest = hashlib.sha256()
        for folder in (self.store.folder, self.store.root / FOLDER):
            for path in sorted(folder.glob("[!.]*")):
                digest.update(f"{path.name} {_last_change(path)}\n".encode())
        return digest.hexdigest()[:16]


def progress(store: Store) -> str:
    """How far the sweep is, in one line."""
    state = look(store)
    parts = [f"{len(state.runs)} runs finished", *state.counts]
    under_way = [claim.progress for claim in state.claims if claim.state == "running" and claim.progress]
    parts += [f"{len(state.damaged)} damaged"] if state.damaged else []
    return ", ".join(parts) + (f" ({'; '.join(under_way[:3])})" if under_way else "") + "; this page updates itself."


def server(root: str | Path, host: str = "127.0.0.1", port: int = 0) -> ThreadingHTTPServer:
    """A server that is bound and not yet serving. Port 0 takes any free one."""

    class Server(_Server):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    class Handler(_Handler):
        answer_to = staticmethod(Served(root).answer)
        bound_to = host

    try:
        return Server((host, port), Handler)
    except (OSError, OverflowError) as error:
        told = f"cannot listen on {host} port {port}: {getattr(error, 'strerror', None) or error}"
        raise GottaError(f"{told}. Try --port 0, which takes any free one, or --host 127.0.0.1.") from None


def is_trusted(header: str | None, bound_to: str) -> bool:
    """Is this Host header ours? A foreign name that was made to point here (DNS rebinding) is not.

    >>> is_trusted("localhost:8000", "127.0.0.1"), is_trusted("evil.example:8000", "127.0.0.1")
    (True, False)
    """
    if not header:
        return False
    name = urlsplit(f"//{header}").hostname or ""
    if name in ("localhost", bound_to.lower(), socket.gethostname().lower()):
        return True
    try:
        return bool(ip_address(name))
    except ValueError:
        return False


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # readers who may come at once; with the usual 5 the system turns the others away

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader who left is not an error."""
        if not isinstance(sys.exc_info()[1], ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    answer_to: Callable[[str], Answer | None]
    bound_to: str
    server_version, sys_version = "gotta", ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        status, (kind, content) = self._find()
        tag = f'"{hashlib.sha256(content).hexdigest()[:24]}"'
        if status == HTTPStatus.OK and self.headers.get("If-None-Match") == tag:
            status, content = HTTPStatus.NOT_MODIFIED, b""
        told = {"Content-Type": kind, "Content-Length": str(len(content)), "ETag": tag}
        try:
            self.send_response(status)
            for name, value in (HEADERS | told).items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):  # the reader has left
            self.close_connection = True

    do_HEAD = do_GET

    def _find(self) -> tuple[HTTPStatus, Answer]:
        try:
            path = unquote(urlsplit(self.path).path)
            trusting = is_trusted(self.headers.get("Host"), self.bound_to)
        except ValueError:  # no address at all
            trusting = False
        if not trusting:
            return HTTPStatus.FORBIDDEN, ("text/plain", b"This name is not served here.\n")
        try:
            found = self.answer_to(path)
        except OSError:  # a run went while it was read
            return HTTPStatus.SERVICE_UNAVAILABLE, ("text/plain", b"The runs are changing; try again.\n")
        return (HTTPStatus.OK, found) if found else (HTTPStatus.NOT_FOUND, ("text/plain", b"There is nothing here.\n"))

    def log_message(self, format: str, *args: object) -> None:
        """Silence: the terminal belongs to whoever started the server."""


def _last_change(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns if path.is_file() else 0
    except OSError:
        return 0
