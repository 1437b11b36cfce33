"""How many runs a plan has for each method and memory, as a small table."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gotta.experiment.spec.dotted import find_varied, value_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.safe_text import tell_few

SHOWN = 8  # values of a setting that are named before they are only counted
NOTHING = "."


@dataclass(frozen=True, repr=False)
class Grid:
    """Runs of one seed by method (columns) and by memory or control (rows), and the settings that vary within."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: dict[tuple[str, str], int]  # (row, column) -> runs of each seed
    varied: dict[str, tuple[str, ...]]  # dotted setting -> its values, where a cell of the grid is several runs

    @classmethod
    def of(cls, specs: Sequence[RunSpec]) -> "Grid":
        """The grid of the first seed; the other seeds have the same cells."""
        first = [spec for spec in specs if spec.seed == specs[0].seed]
        places = [(row_of(spec), spec.method.name) for spec in first]
        columns = tuple(dict.fromkeys(column for _, column in places))
        return cls(tuple(dict.fromkeys(row for row, _ in places)), columns, dict(Counter(places)), _settings(first))

    def __str__(self) -> str:
        head = ["runs per seed", *self.columns]
        body = [[row, *(str(self.counts.get((row, c), NOTHING)) for c in self.columns)] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(head, *body, strict=True)]
        lines = [_line(cells, widths) for cells in (head, *body)]
        return "\n".join([*lines, *(f"{name}: {tell_few(values, SHOWN)}" for name, values in self.varied.items())])

    __repr__ = __str__


def row_of(spec: RunSpec) -> str:
    """The memory, or the control that stands in its place."""
    return f"control: {spec.control.replace('_', ' ')}" if spec.control else spec.memory.name


def _settings(specs: Sequence[RunSpec]) -> dict[str, tuple[str, ...]]:
    alike: dict[tuple[str, str], list[RunSpec]] = {}
    for spec in specs:
        alike.setdefault((row_of(spec), spec.method.name), []).append(spec)
    found: dict[str, dict[str, None]] = {}
    for same in alike.values():
        for name in find_varied(same):
            values = [value_of(spec, name) for spec in same]
            found.setdefault(name, {}).update(dict.fromkeys(str(value) for value in values if value is not None))
    return {name: tuple(values) for name, values in found.items()}


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]).rstrip()
