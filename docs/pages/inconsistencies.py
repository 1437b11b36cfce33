"""Finding what does not fit together in the paper's numbers, by computing it from them."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

from gotta.groups import group
from gotta.report.paper.numbers import (
    EPSILON,
    Inconsistency,
    PaperTable,
    Published,
    count_decimals,
    document,
    tables,
)

GUIDED = ("cds", "fpsd", "fps")
COMPUTED = {
    "same_setting_differs": "The same setting has different values in different places.",
    "bold_not_maximum": "The bold number is not the largest of its column.",
    "tie_for_best": "Several cells share the largest value of a column.",
    "underline_not_second": "The underlined number is not the second largest of its column.",
    "unmarked_tie": "A cell has the value of an underlined one and is not underlined.",
    "no_second_marked": "No cell of these columns is underlined, against the convention of table 1.",
    "shaded_not_best_overall": "A shaded cell is not the best of its table: shading is by method or by data set there.",
    "identical_rows": "Two memories have the same values in every column of a block.",
    "text_and_table": "The text states another value than the table.",
    "tie_called_best": "The text calls best what ties with another memory.",
    "claim_against_table": "The text calls best what is not the largest value in the table.",
}


def text_numbers() -> tuple[Published, ...]:
    """The numbers in the text, those that repeat a table and those that stand nowhere else."""
    found = []
    for entry in document()["text"]:
        value = entry["value"]
        given = {**entry, "where": f"text, {entry['where']}", "value": float(value), "decimals": count_decimals(value)}
        found.append(Published(**given))
    return tuple(found)


def find_inconsistencies() -> list[Inconsistency]:
    """Every inconsistency that follows from the numbers and marks alone."""
    known = tables()
    found = list(_same_setting([cell for table in known.values() for cell in table.cells]))
    for table in known.values():
        for cells in table.columns().values():
            found += _marks(cells)
        found += [*_no_second(table), *_check_shading(table), *_identical_rows(table)]
    return [*found, *_text(known), *_claims(known)]


def _flag(kind: str, cells: Sequence[Published], what: str = "") -> Inconsistency:
    places = tuple(cell.place for cell in cells)
    return Inconsistency(kind, places, tuple(cell.value for cell in cells), what or COMPUTED[kind])


def _same_setting(cells: Sequence[Published]) -> Iterator[Inconsistency]:
    """Cells that must be equal; without a memory the capacity changes nothing."""

    def setting(cell: Published) -> tuple[Any, ...]:
        capacity = None if cell.memory == "none" else cell.capacity
        return cell.method, cell.memory, cell.data, cell.gamma, cell.reset, cell.backbone, capacity

    for alike in group(cells, setting).values():
        if len({cell.value for cell in alike}) > 1:
            yield _flag("same_setting_differs", alike)


def _marks(cells: Sequence[Published]) -> Iterator[Inconsistency]:
    if len(cells) < 2:
        return
    best, second, *_ = [*sorted({cell.value for cell in cells}, reverse=True), None]
    top = [cell for cell in cells if cell.value == best]
    for cell in cells:
        if cell.bold and cell.value != best:
            yield _flag("bold_not_maximum", [cell, *top])
        if cell.underlined and cell.value != second:
            yield _flag("underline_not_second", [cell, *(other for other in top if other is not cell)])
    if len(top) > 1 and any(cell.bold for cell in top):
        yield _flag("tie_for_best", top)
    seconds = [cell for cell in cells if cell.value == second]
    if any(cell.underlined for cell in seconds) and not all(cell.underlined for cell in seconds):
        yield _flag("unmarked_tie", seconds)


def _no_second(table: PaperTable) -> Iterator[Inconsistency]:
    columns = [cells for cells in table.columns().values() if len(cells) > 1]
    bare = [cells for cells in columns if not any(cell.underlined for cell in cells)]
    if bare:
        names = tuple(f"{table.name}: {cells[0].method}, M={cells[0].capacity}" for cells in bare)
        yield Inconsistency("no_second_marked", names, (), COMPUTED["no_second_marked"])


def _check_shading(table: PaperTable) -> Iterator[Inconsistency]:
    best = max(table.cells, key=lambda cell: cell.value if cell.method != "source" else 0.0)
    for cell in table.cells:
        if cell.shaded and cell.value != best.value:
            yield _flag("shaded_not_best_overall", [cell, best])


def _identical_rows(table: PaperTable) -> Iterator[Inconsistency]:
    for block in group(table.cells, lambda cell: (cell.data, cell.gamma, cell.capacity)).values():
        for first, second in combinations(group(block, lambda cell: cell.memory).values(), 2):
            if [cell.value for cell in first] == [cell.value for cell in second]:
                yield _flag("identical_rows", [*first, *second])


def _text(known: dict[str, PaperTable]) -> Iterator[Inconsistency]:
    for number in text_numbers():
        if number.epsilon not in (EPSILON, None):
            continue
        same = [
            cell
            for table in known.values()
            for cell in table.cells
            if all(getattr(cell, n) == getattr(number, n) for n in ("method", "memory", "capacity", "reset", "data"))
            and (cell.gamma, cell.backbone) == (number.gamma, number.backbone)
        ]
        if any(abs(cell.value - number.value) > 0.5 * 10**-number.decimals + 1e-9 for cell in same):
            yield _flag("text_and_table", [number, *same])


def _claims(known: dict[str, PaperTable]) -> Iterator[Inconsistency]:
    for claim in document()["claims"]:
        asked = {name: claim[name] for name in ("method", "data", "gamma") if name in claim}
        cells = [c for c in known[claim["table"]].cells if all(getattr(c, n) == v for n, v in asked.items())]
        names = GUIDED if claim["memory"] == "guided" else (claim["memory"],)
        named = max((cell for cell in cells if cell.memory in names), key=lambda cell: cell.value)
        above = [cell for cell in cells if cell.memory not in names and cell.value > named.value]
        equal = [cell for cell in cells if cell.memory not in names and cell.value == named.value]
        what = f"Text ({claim['where']}): {claim['says']}."
        if above:
            yield _flag("claim_against_table", [named, *above], what)
        elif equal:
            yield _flag("tie_called_best", [named, *equal], what)
