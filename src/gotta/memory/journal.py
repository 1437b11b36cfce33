"""Every offer to a memory with the decision and its reason: recorded, and saved for a replay through other policies."""

import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gotta.errors import GottaError
from gotta.json_yaml import open_plain, parse_json
from gotta.memory.intake import Columns
from gotta.memory.table import IntArray

OFFER, READ, REFRESH = 0, 1, 2
FORMAT = 1
LARGEST = 1 << 32  # bytes of all columns
MOST = 1 << 24  # rows or classes


@dataclass
class Journal:
    """What happened to one memory, in order. `frozen` says that the model never changed, which makes a replay exact."""

    capacity: int
    num_classes: int
    frozen: bool = False
    events: list[tuple[int, int]] = field(default_factory=list)  # what happened, and to how many samples
    batches: list[Columns] = field(default_factory=list)  # one per offer
    refreshes: list[Columns] = field(default_factory=list)  # one per refresh

    def note_offers(self, first: int, columns: Columns, slots: list[int], left: list[int], reasons: list[str]) -> None:
        """A batch whose first sample has the id `first`; `left` are the ids that made way, -1 for none."""
        decided = {"slot": np.array(slots), "evicted": np.array(left), "reason": np.array(reasons)}
        self.batches.append({"id": first + np.arange(len(slots)), **decided, **copied(columns)})
        self.events.append((OFFER, len(slots)))

    def read(self) -> None:
        self.events.append((READ, 0))

    def note_refresh(self, ids: IntArray, columns: Columns) -> None:
        self.refreshes.append({"id": ids, **copied(columns)})
        self.events.append((REFRESH, len(ids)))

    def __len__(self) -> int:
        """How many samples were offered."""
        return sum(size for kind, size in self.events if kind == OFFER)

    def column(self, name: str) -> NDArray[Any]:
        """One column over all offers: id, slot, evicted, reason, label, uncertainty, embedding or descriptor."""
        known = sorted(self.batches[0]) if self.batches else []
        if name not in known:
            raise GottaError(f"this journal has no column '{name}'. It has {known}.")
        return np.concatenate([batch[name] for batch in self.batches])

    def save(self, path: str | Path) -> None:
        """One .npz file of plain arrays."""
        about = {"format": FORMAT, "capacity": self.capacity, "num_classes": self.num_classes, "frozen": self.frozen}
        parts = {"about": np.array(json.dumps(about)), "events": np.array(self.events, np.int64).reshape(-1, 2)}
        for prefix, group in (("offer", self.batches), ("refresh", self.refreshes)):
            for name in group[0] if group else ():
                parts[f"{prefix}.{name}"] = np.concatenate([item[name] for item in group])
        with Path(path).open("wb") as file:
            np.savez_compressed(file, **parts)  # type: ignore[arg-type]


def copied(columns: Columns) -> Columns:
    return {name: value.copy() for name, value in columns.items()}


def load(path: str | Path) -> Journal:
    """A journal that `Journal.save` wrote."""
    try:
        with open_plain(Path(path), links=True) as file, zipfile.ZipFile(file) as archive:
            size = sum(info.file_size for info in archive.infolist())
        if size > LARGEST:
            raise ValueError(f"it unpacks to {size:,} bytes, at most {LARGEST:,} are read")
        with np.load(path, allow_pickle=False) as file:
            parts = dict(file)
        about = parse_json(str(parts["about"]))
        events = [(int(kind), int(size)) for kind, size in parts["events"]]
        _check(about, events, parts)
    except Exception as error:  # a damaged archive makes NumPy raise nearly anything
        raise GottaError(f"{path} is not a journal of Memory(..., journal=True): {error}.") from error
    journal = Journal(about["capacity"], about["num_classes"], about["frozen"], events)
    journal.batches = cut(parts, "offer.", [size for kind, size in events if kind == OFFER])
    journal.refreshes = cut(parts, "refresh.", [size for kind, size in events if kind == REFRESH])
    return journal


def _check(about: dict[str, Any], events: list[tuple[int, int]], parts: Columns) -> None:
    """Raises unless the parts go together."""
    if about["format"] != FORMAT:
        raise ValueError(f"it has journal format {about['format']!r:.20}, this version reads {FORMAT}")
    counts = (about["capacity"], about["num_classes"])
    if not all(type(count) is int and 1 <= count <= MOST for count in counts) or type(about["frozen"]) is not bool:
        raise ValueError("its head is damaged")
    if any(kind not in (OFFER, READ, REFRESH) or size < 0 for kind, size in events):
        raise ValueError("its events are damaged")
    for kind, prefix in ((OFFER, "offer."), (REFRESH, "refresh.")):
        total = sum(size for what, size in events if what == kind)
        if any(len(column) != total for name, column in parts.items() if name.startswith(prefix)):
            raise ValueError("its columns have not as many rows as its events tell")


def cut(parts: Columns, prefix: str, sizes: list[int]) -> list[Columns]:
    ends = np.cumsum(sizes)[:-1]
    columns = {name[len(prefix) :]: np.split(value, ends) for name, value in parts.items() if name.startswith(prefix)}
    return [{name: pieces[i] for name, pieces in columns.items()} for i in range(len(sizes))]
