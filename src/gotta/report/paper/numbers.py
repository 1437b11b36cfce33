"""The numbers of the paper this benchmark follows, as printed, and what among them does not fit together."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from gotta.groups import group

FOLDER = Path(__file__).parent
EPSILON = 0.005  # of every table, by the paper's text
CELL = re.compile(r"(?P<value>\d+\.\d+)(?P<marks>[bus]*)")
EMPTY = "--"


@dataclass(frozen=True)
class Published:
    """A printed number with its setting; `decimals` is how many were printed, `epsilon` None where it is not stated."""

    where: str
    method: str
    memory: str
    value: float
    decimals: int
    capacity: int | None
    reset: str
    data: str = "cifar10-c"
    gamma: float = 0.1
    backbone: str = "wrn-28-10"
    epsilon: float | None = EPSILON
    bold: bool = False
    underlined: bool = False
    shaded: bool = False

    @property
    def place(self) -> str:
        setting = f"{self.data} gamma {self.gamma:g}" if self.where == "table3" else f"M={self.capacity}"
        return f"{self.where}: {self.method} + {self.memory}, {setting}"


@dataclass(frozen=True)
class PaperTable:
    """A table as printed: its cells row by row, without the empty ones."""

    name: str
    title: str
    label: str
    cells: tuple[Published, ...]

    def columns(self) -> dict[tuple[Any, ...], list[Published]]:
        return group(self.cells, lambda cell: (cell.method, cell.data, cell.gamma, cell.capacity))


@dataclass(frozen=True)
class Inconsistency:
    """Numbers, marks or sentences of the paper that contradict one another, with places and printed values."""

    kind: str
    places: tuple[str, ...]
    values: tuple[float, ...] = ()
    what: str = field(default="", compare=False)


@cache
def tables() -> dict[str, PaperTable]:
    """Every table, by name: table1, table2, table3, table_m64, table_vit."""
    return {
        name: PaperTable(name, content["title"], content["label"], tuple(_cells(name, content)))
        for name, content in document()["tables"].items()
    }


def lookup(method: str, memory: str, capacity: int | None = None, **more: Any) -> list[Published]:
    """The printed cells with this setting, `more` being its reset, data, gamma or backbone; None stands for any.

    Cells without a memory are found whatever the capacity.
    """
    asked = {"method": method, "memory": memory, **more}
    return [
        cell
        for table in tables().values()
        for cell in table.cells
        if all(value is None or getattr(cell, name) == value for name, value in asked.items())
        and (capacity is None or cell.memory == "none" or cell.capacity == capacity)
    ]


def inconsistencies() -> list[Inconsistency]:
    """Everything known not to fit together, from the data file; a test finds most of it again by computing."""
    entries = read_data("inconsistencies.yaml")["inconsistencies"]
    return [
        Inconsistency(entry["kind"], tuple(entry["places"]), tuple(entry.get("values", ())), entry["what"])
        for entry in entries
    ]


def document() -> Mapping[str, Any]:
    """The data file."""
    return read_data("numbers.yaml")


@cache
def read_data(name: str) -> Mapping[str, Any]:
    """A data file of this folder."""
    content: Mapping[str, Any] = yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
    return content


def _cells(name: str, content: Mapping[str, Any]) -> Iterator[Published]:
    columns = [column if isinstance(column, dict) else {"method": column} for column in content["columns"]]
    known = {item.name for item in fields(Published)}
    for memory, line in content["rows"].items():
        for column, text in zip(columns, str(line).split(), strict=True):
            if text == EMPTY:
                continue
            match = CELL.fullmatch(text)
            assert match is not None, f"{name}, {memory}: '{text}' is not a cell"
            marks: dict[str, Any] = {mark: mark[0] in match["marks"] for mark in ("bold", "underlined", "shaded")}
            setting = {key: value for key, value in {**content["setting"], **column}.items() if key in known}
            value, decimals = float(match["value"]), count_decimals(match["value"])
            yield Published(where=name, memory=memory, value=value, decimals=decimals, **setting, **marks)


def count_decimals(text: str) -> int:
    return len(text.partition(".")[2])
