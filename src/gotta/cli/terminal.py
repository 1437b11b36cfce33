"""What the command writes to: any terminal, pipe or file, of any encoding, that may be closed or go away."""

import codecs
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EPIPE
from typing import Any, TextIO, cast

from rich.console import Console as RichConsole
from rich.segment import Segment

from gotta.safe_text import spell_out

SPELLED = "gotta-spelled"
SPELLING = {
    "±": "+-",
    "≈": "~",
    "≠": "!=",
    "»": ">>",
    "·": ".",
    "†": "(!)",
    "−": "-",
    "–": "-",
    "—": "-",
    "…": "...",
    "→": "->",
    "×": "x",
}


class Console(RichConsole):
    """Rich's console for plain text: only rich's own control sequences are written, those in names are spelled out."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(markup=False, highlight=False, emoji=False, **settings)
        self.soft_wrap = not self.is_terminal  # a pipe or a file gets sentences whole: it has no width

    def _render_buffer(self, buffer: Iterable[Segment]) -> str:
        shown = (part if part.control else Segment(spell_out(part.text), part.style) for part in buffer)
        return super()._render_buffer(shown)


class Guarded:
    """A stream on which control characters are spelled out. Rich, which writes some itself, is led past it."""

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        self.rich_proxied_file.write(spell_out(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


@contextmanager
def guard_output() -> Iterator[None]:
    """What is printed inside is safe to show, fits the encoding, and ends in no traceback if nobody can read it."""
    codecs.register_error(SPELLED, _spell)
    _open_missing()
    streams = sys.stdout, sys.stderr
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELLED)
    sys.stdout, sys.stderr = (cast(TextIO, Guarded(stream)) for stream in streams)
    try:
        try:
            yield
        finally:
            streams[0].flush()
    except OSError as error:
        if error.filename is not None:
            raise  # it is about a file, not about the output
        _let_go(streams[0])
        if error.errno != EPIPE:
            with suppress(OSError):
                print(f"gotta: cannot write the output: {error.strerror or error}.", file=streams[1], flush=True)
        sys.exit(1)
    finally:
        sys.stdout, sys.stderr = streams


def _spell(error: UnicodeError) -> tuple[str | bytes, int]:
    """What to write for characters that the encoding of the output lacks."""
    assert isinstance(error, UnicodeEncodeError)
    parts = error.object[error.start : error.end]
    return "".join(SPELLING.get(c, c.encode("ascii", "backslashreplace").decode()) for c in parts), error.end


def _open_missing() -> None:
    """Closed streams get something to read from or write to, before a file of ours is opened under their number."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def _let_go(stream: TextIO) -> None:
    """Lead what is still to be written, at the latest when the process ends, to nowhere."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
