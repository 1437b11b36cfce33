"""The one exception that stands for a mistake in what gotta was given."""

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher, get_close_matches
from fnmatch import fnmatchcase
from importlib import import_module
from itertools import takewhile
from typing import Any

from gotta.safe_text import one_line

__all__ = ["GottaError", "unknown"]

MOST_LISTED = 90  # names in a message; of more, the nearest ones


class GottaError(ValueError):
    """What was wrong, what was expected, what was got, and a way out, in one message. The command line exits with 2.

    >>> import gotta
    >>> try:
    ...     gotta.Memory("fsp", capacity=8)
    ... except gotta.GottaError as error:
    ...     print(str(error)[:44])
    memory 'fsp' is unknown. Did you mean 'fps'?
    """


class NoEffect(GottaError):
    """What was asked for would do nothing to the given model."""


class NotFinite(GottaError):
    """Numbers that are NaN or infinite where only finite ones can be used."""


@contextmanager
def one_error(what: str) -> Iterator[None]:
    """Whatever a mistake in what gotta was given raises inside becomes a `GottaError` that begins with `what`."""
    try:
        yield
    except Exception as error:
        raise_mistake(what, error)
        raise


def raise_mistake(what: str, error: Exception) -> None:
    """Raises a `GottaError` that begins with `what`, but not for a lack of memory (a SystemError where NumPy does not
    say what failed) nor for a warning that the caller made an error.
    """
    lacks_memory = type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)  # torch's
    if not (lacks_memory or isinstance(error, GottaError | MemoryError | SystemError | Warning)):
        raise GottaError(f"{what}: {type(error).__name__}: {error}") from error


def import_extra(module: str, who: str, extra: str) -> Any:
    """A module of a package that not everybody has installed."""
    try:
        return import_module(module)
    except ImportError as error:
        missing = str(error).partition(". ")[0]  # without a way out of its own
        raise GottaError(f"{who} ({missing}). Install it: pip install 'gotta-tta[{extra}]'.") from None


def unknown(kind: str, name: object, known: Iterable[str]) -> GottaError:
    """The error for a name that nobody registered, with the nearest known one."""
    name, choices = one_line(str(name)), sorted(one_line(choice) for choice in known)
    near = get_close_matches(name, choices, n=len(choices) or 1, cutoff=0.5)
    best = max(sorted(near), key=lambda known: _nearness(known, name), default=None)
    hint = "" if best is None else f" Did you mean '{best}'?"
    listed = ", ".join(choices)
    if len(choices) > MOST_LISTED:
        listed = f"{', '.join((near or choices)[:10])}, ... ({len(choices)} in all)"
    return GottaError(f"{kind} '{name}' is unknown.{hint} Known: {listed}.")


def check_known(kind: str, name: object, known: Collection[str]) -> None:
    """Refuse a name that is not one of these."""
    if name not in known:
        raise unknown(kind, name, known)


def match_names(kind: str, patterns: str, known: Collection[str]) -> list[str]:
    """The known names that comma-separated wildcards pick, in the order of the patterns."""
    found: list[str] = []
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        hits = [name for name in known if fnmatchcase(name, pattern)]
        if not hits:
            raise unknown(kind, pattern, known)
        found += hits
    return list(dict.fromkeys(found))


def _nearness(known: str, name: str) -> tuple[float, int, int]:
    """Of equally near names the one that begins alike is nearer, resnet20 to resnet21 and not resnet32; then the one
    that goes on with a nearer letter or digit, snow-5 to snow-6 and not snow-1.
    """
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(known, name, strict=False))))
    apart = [ord(text[alike]) if alike < len(text) else 0 for text in (known, name)]
    return SequenceMatcher(None, known, name).ratio(), alike, -abs(apart[0] - apart[1])


def messages(looks: Iterable[Callable[[], object]]) -> list[str]:
    """What each look complains about: for showing all mistakes together."""
    found = []
    for look in looks:
        try:
            look()
        except GottaError as error:
            found.append(str(error))
    return found
