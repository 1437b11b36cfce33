"""Text that is safe to show: names come from files and folders of anybody, and may hold anything."""

import re
from collections.abc import Sequence

# Control characters, lone surrogates (bytes of file names that are no UTF-8), separators of lines, and marks that turn
# the direction of writing, so that a name looks like another one.
_BIDI = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\ufeff{_BIDI}]")
_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")


def spell_out(text: str) -> str:
    r"""The text with control characters spelled out, but for tabs and ends of lines.

    >>> spell_out("red \x1b[31m\u202e name\n")
    'red \\x1b[31m\\u202e name\n'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""A name, with tabs and ends of lines spelled out too.

    >>> one_line("two\nlines")
    'two\\nlines'
    """
    return spell_out(text).replace("\t", "\\t").replace("\n", "\\n")


def tell_number(number: int, noun: str) -> str:
    """A number of things, in words.

    >>> tell_number(1, "forward"), tell_number(2000, "forward")
    ('1 forward', '2,000 forwards')
    """
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def tell_few(names: Sequence[str], most: int, between: str = ", ") -> str:
    """The first of them, and how many more there are.

    >>> tell_few(["fps", "cds", "fifo"], 2)
    'fps, cds and 1 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(names[:most]) + more


def tell_bytes(size: int | None) -> str:
    """A number of bytes as people say it; a question mark for what nobody knows.

    >>> tell_bytes(1234567), tell_bytes(None)
    ('1.2 MB', '?')
    """
    if size is None:
        return "?"
    number, units = float(size), ["bytes", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number, units = number / 1000, units[1:]
    return f"{number:.0f} {units[0]}" if units[0] == "bytes" or number >= 100 else f"{number:.1f} {units[0]}"


def tell_seconds(seconds: float) -> str:
    """A span of time in one unit.

    >>> [tell_seconds(span) for span in (7.4, 150, 3600, 10_800)]
    ['7 s', '2 min', '60 min', '3.0 h']
    """
    if seconds < 100:
        return f"{max(0.0, seconds):.0f} s"
    hours = seconds / 3600
    return f"{seconds / 60:.0f} min" if seconds < 100 * 60 else f"{hours:.1f} h" if hours < 100 else f"{hours:,.0f} h"


def csv_value(value: object) -> object:
    """A value for a line of CSV. Text that a spreadsheet would take for a formula gets an apostrophe in front.

    >>> csv_value("=1+1"), csv_value("-fps"), csv_value("-1.5"), csv_value(-1.5), csv_value("fps")
    ("'=1+1", "'-fps", '-1.5', -1.5, 'fps')
    """
    if not isinstance(value, str):
        return value
    text = one_line(value)
    return f"'{text}" if text.lstrip().startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
