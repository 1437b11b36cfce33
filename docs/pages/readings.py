"""Which reading of the paper agrees with it: the tables of docs/memories.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gotta.report.pairs import Difference, difference
from gotta.report.paper.numbers import lookup
from gotta.report.stored_run import Run
from pages.parts import fill, grid, read, tell_gap

TEN, SIGNS = "cifar10-mini", "gtsrb"
CLASSES = {TEN: 10, SIGNS: 43}
READINGS: dict[str, dict[str, str]] = {  # by their headings; what is not named has its default
    "FPS `against=all`": {"against": "all", "order": "check_first"},
    "FPS `all`, `order=evict_first`": {"against": "all", "order": "evict_first"},
    "FPS `against=remaining`": {"against": "remaining", "order": "check_first"},
    "CDS `one_row=cstu`": {"one_row": "cstu", "ties": "score"},
    "CDS `one_row=compare`": {"one_row": "compare", "ties": "score"},
}
DEFAULTS = {"fps": READINGS["FPS `against=all`"], "cds": READINGS["CDS `one_row=cstu`"]}


@dataclass(frozen=True)
class Readings:
    runs: Sequence[Run]

    def pick(self, memory: str, capacity: int, data: str = TEN, reading: dict[str, str] | None = None) -> list[Run]:
        """The runs of a memory in one reading."""
        asked: dict[str, Any] = {"name": memory, "capacity": capacity, **(reading or DEFAULTS.get(memory, {}))}
        found = [run for run in self.runs if run.spec.data.name == data and _has(run, asked)]
        assert len({run.seed for run in found}) == len(found) > 0, (asked, data, len(found))
        return sorted(found, key=lambda run: run.seed)

    def is_cstu(self, memory: str, capacity: int, data: str, reading: dict[str, str]) -> bool | None:
        """Equal in every seed and domain; not in at least two seeds; else nothing is said."""
        pairs = zip(self.pick(memory, capacity, data, reading), self.pick("cstu", capacity, data), strict=True)
        equal = [ours.scores() == theirs.scores() for ours, theirs in pairs]
        return True if all(equal) else False if equal.count(False) > 1 else None

    def gap(self, above: str, below: str, capacity: int, reading: dict[str, str] | None = None) -> Difference:
        return difference(self.pick(above, capacity, reading=reading), self.pick(below, capacity))


def make(root: Path) -> dict[Path, str]:
    found = Readings(read(root, "readings"))
    contents = {"relations of readings": relations(found), "levels of readings": levels(found)}
    return fill(root / "docs/memories.md", contents)


def relations(found: Readings) -> str:
    """Where the paper's numbers say that a memory decides like CSTU, or does not: which reading does the same."""
    rows: dict[str, list[str]] = {}
    agree: dict[str, list[bool]] = {name: [] for name in READINGS}
    for memory, is_cstu in (("fps", False), ("cds", True)):
        for data, capacity in ((TEN, 8), (SIGNS, 8), (SIGNS, 32)):
            label = f"{memory.upper()} is {'' if is_cstu else 'not '}CSTU at M = {capacity} of {CLASSES[data]} classes"
            rows[label] = []
            for name, reading in READINGS.items():
                asked = name.lower().startswith(memory)
                holds = asked and found.is_cstu(memory, capacity, data, reading) is is_cstu
                rows[label].append(("yes" if holds else "no") if asked else "")
                agree[name] += [holds] if asked else []
    label = f"FPS above CSTU at M = 32 of 10 classes (paper {_printed('fps', 'cstu', 32)})"
    rows[label] = []
    for name, reading in READINGS.items():
        gap = found.gap("fps", "cstu", 32, reading) if name.startswith("FPS") else None
        rows[label].append(tell_gap(gap) if gap else "")
        agree[name] += [gap.verdict == 1] if gap else []
    rows["**agrees with**"] = [f"**{sum(held)} of {len(held)}**" for held in agree.values()]
    return grid("relation in the paper", list(READINGS), rows)


def levels(found: Readings) -> str:
    """Differences in the default readings, beside what the paper prints."""
    capacities = (8, 32, 64)
    rows = {
        f"{above.upper()} less {below.upper()}": [
            f"{tell_gap(found.gap(above, below, m))} ({_printed(above, below, m)})" for m in capacities
        ]
        for above, below in (("fps", "cstu"), ("cds", "cstu"), ("fpsd", "fps"))
    }
    return grid("10 classes, ours (paper)", [f"M = {m}" for m in capacities], rows)


def _has(run: Run, asked: dict[str, Any]) -> bool:
    memory = run.spec.memory
    held = {"name": memory.name, "capacity": memory.capacity, **memory.arguments}
    return all(held.get(name) == value for name, value in asked.items())


def _printed(above: str, below: str, capacity: int) -> str:
    values = [lookup("norm", name, capacity, data="cifar10-c", reset="never")[0].value for name in (above, below)]
    return f"{values[0] - values[1]:+.1f}"
