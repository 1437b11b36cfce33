"""Cells of a recipe with other memories, methods or settings than it names: what the options of a bench do.

Cells that differed may be equal afterwards. They are one run, by its id.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from gotta.errors import unknown
from gotta.experiment.spec.arguments import list_arguments
from gotta.experiment.spec.sections import DEFAULTS, FIELDS, name_of
from gotta.experiment.spec.text import merged
from gotta.experiment.spec.user_parts import find_own

Sections = dict[str, Any]
NONE = DEFAULTS["memory"]


def exchange_memories(cells: Sequence[Sections], names: Sequence[str]) -> list[Sections]:
    """Every cell that has a memory once for each of these; cells without one, and controls, stay."""
    found = []
    for cell in cells:
        bare = cell.get("control") or name_of("memory", cell) == NONE
        found += [cell] if bare else [_with("memory", cell, name) for name in names]
    return found


def exchange_methods(cells: Sequence[Sections], names: Sequence[str]) -> list[Sections]:
    """The cells of the methods that are named; a method that no cell has takes the place of every cell's in turn."""
    known = {name_of("method", cell) for cell in cells}
    kept = [cell for cell in cells if name_of("method", cell) in names]
    return kept + [_with("method", cell, name) for name in names if name not in known for cell in cells]


def _with(section: str, cell: Sections, name: str) -> Sections:
    """The cell with another memory or method, without the arguments that only the one before takes."""
    before, content = name_of(section, cell), dict(cell.get(section, {}))
    old, new = list_arguments(section, before), list_arguments(section, name)
    if new is not None:
        lost = {key for key in content if key not in FIELDS[section] and key not in new and (old is None or key in old)}
        content = {key: value for key, value in content.items() if key not in lost}
    if section == "method" and name != before:
        known = getattr(find_own("method", name), "presets", ())
        content = {key: value for key, value in content.items() if key != "preset" or value in known}
    return {**cell, section: {**content, "name": name}}


def _arguments(over: Sections) -> list[tuple[str, str]]:
    """The settings of method and memory that are arguments of whichever is chosen."""
    given = {section: over[section] for section in FIELDS if isinstance(over.get(section), Mapping)}
    return [(section, name) for section in given for name in given[section] if name not in FIELDS[section]]


def fitting(over: Sections, cell: Sections) -> Sections:
    """`over` without the arguments that this cell's method or memory does not take."""
    result = dict(over)
    for section, name in _arguments(over):
        known = list_arguments(section, name_of(section, merged(cell, over)))
        if (cell.get("control") and section == "memory") or (known is not None and name not in known):
            result[section] = {key: value for key, value in result[section].items() if key != name}
    return result


def fits_nowhere(over: Sections, cells: Sequence[Sections]) -> list[str]:
    """A complaint for each argument that no cell takes."""
    found = []
    for section, name in _arguments(over):
        taken = [list_arguments(section, name_of(section, merged(cell, over))) for cell in cells]
        known = {argument for some in taken for argument in some or ()} | set(FIELDS[section])
        if None not in taken and name not in known:
            found.append(str(unknown("setting", f"{section}.{name}", [f"{section}.{other}" for other in known])))
    return found
