"""Parts of every kind by their names: which kind is meant, and the suite for it."""

from typing import Any

from gotta.checks import dataset, memory, method, prior, statistics, stream
from gotta.checks.suite import Report, Suite
from gotta.errors import GottaError, unknown
from gotta.registry import Registry, import_named, what_is

SUITES: dict[str, Suite[Any, Any]] = {
    **{module.SUITE.kind: module.SUITE for module in (method, memory, statistics, prior, dataset)},
    **stream.SUITES,
}
KINDS: dict[str, Registry[Any]] = {kind: suite.known for kind, suite in SUITES.items()}


def find_kinds(name: str) -> list[str]:
    """The kinds of part that have this name, or that `module:Class` is of; it is imported for that and not called."""
    found = [kind for kind, registry in KINDS.items() if name in registry.names()]
    if not found and ":" in name:
        thing = import_named("part", name)
        found = [kind for kind, registry in KINDS.items() if registry.accepts(thing)]
        if not found:
            expected = "; ".join(f"{kind}: {registry.expected}" for kind, registry in KINDS.items())
            raise GottaError(f"'{name}' is {what_is(thing)} that is not a part of gotta's. Expected one of {expected}.")
    return found


def find_kind(name: str, kind: str = "") -> str:
    """The one kind that is meant."""
    if kind and kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    found = find_kinds(name)
    if not found:
        raise unknown("part", name, {known for registry in KINDS.values() for known in registry.names()})
    if kind and kind not in found:
        raise GottaError(f"'{name}' does not name a {kind}, but {_join_names(found)}.")
    if len(found) > 1 and not kind:
        raise GottaError(f"'{name}' is {_join_names(found)}. Say which is meant, as in --kind '{found[-1]}'.")
    return kind or found[0]


def check_part(name: str, kind: str = "", **options: Any) -> Report:
    """Check a part of any kind by its name or `module:Class`. `options` are those of `Suite.run`."""
    return SUITES[find_kind(name, kind)].run(name, **options)


def _join_names(kinds: list[str]) -> str:
    return " and ".join(f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}" for kind in kinds)
