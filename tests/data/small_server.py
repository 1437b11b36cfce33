"""A real HTTP server on this machine, with the manners and the bad manners of the ones in the world."""

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Site:
    """What the server does; a test changes it between two requests."""

    content: bytes = b""
    etag: str | None = '"one"'
    ranges: bool = True  # honour Range
    drop_after: list[int] = field(default_factory=list)  # for each of the next answers: end it after so many bytes
    content_type: str = "application/octet-stream"
    say_length: bool = True
    status: list[int] = field(default_factory=list)  # for each of the next answers: this error instead
    asked: list[dict[str, str]] = field(default_factory=list)  # the headers of each request
    address: str = ""


@contextmanager
def serve():
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            site.asked.append(dict(self.headers))
            if self.path == "/moved":
                self.send_response(302)
                self.send_header("Location", "/file")
                self.end_headers()
                return
            if site.status:
                self.send_error(site.status.pop(0))
                return
            start = self.start()
            if start is not None and start >= len(site.content):
                self.send_error(416)
                return
            self.answer(start)

        def start(self):
            wanted = self.headers.get("Range")
            same = self.headers.get("If-Range") in (None, site.etag)
            return int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and site.ranges and same else None

        def answer(self, start):
            body = site.content[start or 0 :]
            self.send_response(200 if start is None else 206)
            if start is not None:
                self.send_header("Content-Range", f"bytes {start}-{len(site.content) - 1}/{len(site.content)}")
            if site.etag:
                self.send_header("ETag", site.etag)
            if site.say_length:
                self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", site.content_type)
            self.end_headers()
            self.wfile.write(body[: site.drop_after.pop(0)] if site.drop_after else body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None  # a client that hangs up is what some tests are about
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    site.address = f"http://127.0.0.1:{server.server_port}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
