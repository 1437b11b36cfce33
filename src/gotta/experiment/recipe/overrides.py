"""Settings given for all cells of a recipe: which of the cells take them."""

from collections.abc import Mapping, Sequence
from typing import Any

from gotta.errors import unknown
from gotta.experiment.spec.arguments import list_arguments
from gotta.experiment.spec.sections import DEFAULTS, FIELDS
from gotta.experiment.spec.text import merged

Sections = dict[str, Any]


def _arguments(over: Sections) -> list[tuple[str, str]]:
    """The settings of method and memory that are arguments of whichever is chosen."""
    sections = [(section, over.get(section)) for section in FIELDS]
    return [
        (section, name)
        for section, content in sections
        if isinstance(content, Mapping)
        for name in content
        if name not in FIELDS[section]
    ]


def _list_taken(section: str, cell: Sections) -> list[str] | None:
    return list_arguments(section, cell.get(section, {}).get("name", DEFAULTS[section]))


def fitting(over: Sections, cell: Sections) -> Sections:
    """`over` without the arguments that this cell's method or memory does not take."""
    result = dict(over)
    for section, name in _arguments(over):
        known = _list_taken(section, merged(cell, over))
        if (cell.get("control") and section == "memory") or (known is not None and name not in known):
            result[section] = {key: value for key, value in result[section].items() if key != name}
    return result


def fits_nowhere(over: Sections, cells: Sequence[Sections]) -> list[str]:
    """A complaint for each argument that no cell takes."""
    found = []
    for section, name in _arguments(over):
        taken = [_list_taken(section, merged(cell, over)) for cell in cells]
        known = {argument for some in taken for argument in some or ()} | set(FIELDS[section])
        if None not in taken and name not in known:
            found.append(str(unknown("setting", f"{section}.{name}", [f"{section}.{other}" for other in known])))
    return found
