"""How each memory is drawn everywhere: colour, dash and marker, so that it can be told without colour as well."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple
from zlib import crc32

from gotta.report.rates import without_rate


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
    "control: running statistics": Style("#7f7f7f", (7, 3, 2, 3), "plus"),
    "control: same samples per step": Style("#7f7f7f", (2, 3), "asterisk"),
    "control: k-centre by true labels": Style("#7f7f7f", (12, 3), "open star"),
    "control: CSTU by true labels": Style("#7f7f7f", (7, 3), "open tall"),
    "control: PBRS by true labels": Style("#7f7f7f", (2, 3), "open bow"),
    "control: statistics of the whole domain": Style("#7f7f7f", (), "up"),
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


def style(name: str) -> Style:
    """The style of a row by its name; settings after the name (`fps epsilon=0.1`), or a rate, do not change it."""
    plain = without_rate(name)
    bare = plain if plain in KNOWN else plain.split(" ")[0]
    return KNOWN.get(bare) or OTHERS[crc32(bare.encode()) % len(OTHERS)]


def styles(names: Sequence[str] | Mapping[str, str]) -> dict[str, Style]:
    """A style for each name, or for what it stands for. Rows of one memory share its colour and take turns in dash and
    marker.

    What they take is no other memory's, so that black and white tells them apart as well.
    """
    kinds = names if isinstance(names, Mapping) else {name: name for name in names}
    seen: dict[str, int] = {}
    met: set[str] = set()
    found = {}
    for name, kind in kinds.items():
        first = style(kind)
        turn = seen.get(first.colour, 0)
        seen[first.colour] = turn + 1
        alike = turn > 0 and (kind not in KNOWN or kind in met)
        met.add(kind)
        found[name] = Style(first.colour, *TURNS[(turn - 1) % len(TURNS)]) if alike else first
    return found
