"""How each memory is drawn everywhere: colour, dash and marker, so that it is recognised without colour as well."""

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import NamedTuple, TypeVar
from zlib import crc32

from gotta.report.panel import Entry
from gotta.report.rows import NORM

Key = TypeVar("Key")


class Style(NamedTuple):
    """A colour with contrast on white and on near-black; a dash (`()` is a whole line); the name of a marker."""

    colour: str
    dash: tuple[int, ...] = ()
    marker: str = "circle"


# Hues after Okabe and Ito, which stay apart for colour-blind readers; darkened where white paper would swallow them.
KNOWN = {
    "source": Style("#7f7f7f", (3, 3), "open up"),
    "none": Style("#7f7f7f", (), "cross"),
    "fifo": Style("#0072b2", (), "circle"),
    "reservoir": Style("#3f97c7", (7, 3), "open square"),
    "pbrs": Style("#009e73", (12, 3), "triangle"),
    "cstu": Style("#c0689a", (9, 3, 2, 3, 2, 3), "diamond"),
    "cds": Style("#a97f00", (7, 3), "open circle"),
    "fps": Style("#d55e00", (), "star"),
    "fpsd": Style("#e0762a", (2, 3), "open diamond"),
    "hus": Style("#9c6b3c", (7, 3), "open triangle"),
    "rbm": Style("#5d8700", (2, 3), "down"),
    "kcenter": Style("#6f6bd1", (), "square"),
    "running_statistics": Style("#7f7f7f", (7, 3, 2, 3), "plus"),
    "same_samples": Style("#7f7f7f", (2, 3), "asterisk"),
    "true_kcenter": Style("#7f7f7f", (12, 3), "open star"),
    "true_cstu": Style("#7f7f7f", (7, 3), "open tall"),
    "true_pbrs": Style("#7f7f7f", (2, 3), "open bow"),
    "domain_statistics": Style("#7f7f7f", (), "up"),
}
OTHERS = (
    Style("#b24a4a", (2, 3), "open down"),
    Style("#2f8f8f", (7, 3), "hourglass"),
    Style("#8a5fb0", (2, 3), "tall"),
    Style("#4f79b8", (12, 3), "bow"),
)

DASHES: tuple[tuple[int, ...], ...] = ((7, 3), (2, 3), (12, 3), ())
MARKERS = ("square", "triangle", "diamond", "star", "circle")
OWNED = {(look.dash, look.marker) for look in (*KNOWN.values(), *OTHERS)}
TURNS = [(dash, mark) for dash, mark in product(DASHES, MARKERS) if (dash, mark) not in OWNED]


def look_of_entry(entry: Entry) -> str:
    """Its memory, or its method if that comes without."""
    without = entry.row.kind == "none" and entry.column.method != NORM
    return entry.column.method if without else entry.row.name


def style(kind: str) -> Style:
    return KNOWN.get(kind) or OTHERS[crc32(kind.encode()) % len(OTHERS)]


def styles(kinds: Mapping[Key, str]) -> dict[Key, Style]:
    """A style for each thing by what it is drawn as. Rows of one memory share its colour and take turns in dash and
    marker.

    No other memory has theirs, so that they differ in black and white as well.
    """
    met: Counter[str] = Counter()  # colours and kinds
    found = {}
    for key, kind in kinds.items():
        first = style(kind)
        turn = met[first.colour]
        alike = turn > 0 and (kind not in KNOWN or kind in met)
        met.update((first.colour, kind))
        found[key] = Style(first.colour, *TURNS[(turn - 1) % len(TURNS)]) if alike else first
    return found
