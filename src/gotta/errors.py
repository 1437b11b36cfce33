"""The one exception that stands for a mistake in what gotta was given."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches

from gotta.printable import one_line


class GottaError(ValueError):
    """What was wrong, what was expected, what was got, and a way out, in one message. The command line exits with 2."""


class NoEffect(GottaError):
    """What was asked for would do nothing to the given model."""


class NotFinite(GottaError):
    """Numbers that are NaN or infinite where only finite ones can be used."""


@contextmanager
def one_error(what: str) -> Iterator[None]:
    """Whatever a mistake in what gotta was given raises inside becomes a `GottaError` that begins with `what`.

    What is no such mistake passes: an interrupt, a lack of memory, a warning that the caller made an error.
    """
    try:
        yield
    except (GottaError, MemoryError, Warning):
        raise
    except Exception as error:
        if type(error).__name__ == "OutOfMemoryError":  # torch's, which is not imported here
            raise
        raise GottaError(f"{what}: {type(error).__name__}: {error}") from error


def unknown(kind: str, name: str, known: Iterable[str]) -> GottaError:
    """The error for a name that nobody registered, with the nearest known one."""
    name, choices = one_line(name), sorted(one_line(choice) for choice in known)
    near = get_close_matches(name, choices, n=1, cutoff=0.5)
    hint = f" Did you mean '{near[0]}'?" if near else ""
    return GottaError(f"{kind} '{name}' is unknown.{hint} Known: {', '.join(choices)}.")


def messages(looks: Iterable[Callable[[], object]]) -> list[str]:
    """What each look complains about: for showing all mistakes together."""
    found = []
    for look in looks:
        try:
            look()
        except GottaError as error:
            found.append(str(error))
    return found
