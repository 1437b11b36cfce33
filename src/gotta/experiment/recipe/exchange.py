"""Cells of a recipe with other memories, methods or settings than it names: what the options of a bench do."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gotta.errors import unknown
from gotta.experiment.spec.arguments import list_arguments, usual_arguments
from gotta.experiment.spec.sections import DEFAULTS, FIELDS, name_of
from gotta.experiment.spec.text import merged
from gotta.experiment.spec.user_parts import is_user_part
from gotta.methods import methods

Sections = dict[str, Any]
NONE = DEFAULTS["memory"]


def exchange_memories(cells: Sequence[Sections], names: Sequence[str]) -> list[Sections]:
    """Every cell that has a memory once for each of these; cells without one, and controls, stay."""
    return _each_once([new for cell in cells for new in _with_memories(cell, names)])


def exchange_methods(cells: Sequence[Sections], names: Sequence[str]) -> list[Sections]:
    """The cells of the methods that are named; a method that no cell has takes the place of every cell's in turn."""
    known = {name_of("method", cell) for cell in cells}
    kept = [cell for cell in cells if name_of("method", cell) in names]
    new = [_with("method", cell, name) for name in names if name not in known for cell in cells]
    return _each_once(kept + new)


def _with_memories(cell: Sections, names: Sequence[str]) -> list[Sections]:
    if cell.get("control") or name_of("memory", cell) == NONE:
        return [cell]
    return [_with("memory", cell, name) for name in names]


def _with(section: str, cell: Sections, name: str) -> Sections:
    """The cell with another memory or method, without the arguments that only the one before takes."""
    before, content = name_of(section, cell), dict(cell.get(section, {}))
    old, new = list_arguments(section, before), list_arguments(section, name)
    if new is not None:
        lost = {key for key in content if key not in FIELDS[section] and key not in new and (old is None or key in old)}
        content = {key: value for key, value in content.items() if key not in lost}
    if section == "method" and name != before:
        # A method of the caller's own is not imported for this.
        known = () if is_user_part("method", name) else methods.get(name).presets
        content = {key: value for key, value in content.items() if key != "preset" or value in known}
    return {**cell, section: {**content, "name": name}}


def _each_once(cells: Sequence[Sections]) -> list[Sections]:
    """Blocks that differed in their memory or method may be equal now, by what they say or by what is usual."""
    found: dict[str, Sections] = {}
    for cell in cells:
        found.setdefault(json.dumps(_in_full(cell), sort_keys=True, default=repr), cell)
    return list(found.values())


def _in_full(cell: Sections) -> Sections:
    """The cell with the arguments that it leaves to presets and defaults."""
    parts = {section: dict(cell.get(section) or {}) for section in DEFAULTS}
    return cell | {
        section: {**usual_arguments(section, name_of(section, cell), content), **content}
        for section, content in parts.items()
    }


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
