"""Our numbers beside the published ones of the same setting, and always what differs in the set-up."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gotta.experiment.sweep.store import Run
from gotta.report.paper.agreement import Agreement, agreement
from gotta.report.paper.numbers import EPSILON, Published, document, inconsistencies, lookup
from gotta.report.places import places, settings
from gotta.report.tables.cells import Cell, Row, Table
from gotta.report.tables.comparison import table

FAMILIES = {"cifar10-c": "cifar10", "imagenet-c": "imagenet", "itd": "itd"}  # the paper's data set: ours begin so
BACKBONES = {"cifar10-c": "wrn-28-10", "imagenet-c": "resnet50", "itd": "resnet18"}


@dataclass(frozen=True)
class Pair:
    """One cell of ours and the published number of its setting."""

    method: str
    memory: str
    ours: Cell
    published: Published

    @property
    def difference(self) -> float:
        assert self.ours.value is not None
        return self.ours.value - self.published.value


def beside(runs: Sequence[Run]) -> list[Pair]:
    """The cells of one table that the paper has too, in the order of the table."""
    measured = table(runs)
    cells = {
        (row.names[0], c): cell for row in measured.rows for c, cell in zip(measured.columns, row.cells, strict=True)
    }
    usual = Counter(_capacity(run) for run in runs if _capacity(run) is not None).most_common(1)
    found: dict[tuple[str, str], Pair] = {}
    for run, place in sorted(zip(runs, places(runs), strict=True), key=lambda pair: _order(pair[1])):
        cell = cells[place.row, place.column]
        printed = published(run, usual[0][0] if usual else None)
        if printed is not None and cell.value is not None:
            found.setdefault((place.column, place.row), Pair(place.column, place.row, cell, printed))
    return list(found.values())


def published(run: Run, capacity: int | None = None) -> Published | None:
    """The printed cell of a run's setting. Rows without a memory differ between tables: `capacity` chooses one."""
    known = settings(run)
    data = next((name for name, start in FAMILIES.items() if _is_of(str(known.get("data.name")), start)), None)
    if data is None or not _as_published(run, known):
        return None
    backbone = "vit" if "vit" in str(known.get("model.name")) and data == "imagenet-c" else BACKBONES[data]
    names = {"method": "method.name", "memory": "memory.name", "reset": "regime.reset", "gamma": "stream.gamma"}
    asked: dict[str, Any] = {name: known.get(path) for name, path in names.items()}
    if asked["method"] == "source":
        asked |= {"memory": "none", "reset": None}
    found = lookup(**asked, capacity=_capacity(run), data=data, backbone=backbone)
    return next((cell for cell in found if cell.capacity == capacity), found[0] if found else None)


def agreements(pairs: Iterable[Pair]) -> dict[str, Agreement]:
    """Kendall's tau-b between our ranking of the memories and the printed one, for each column with two or more."""
    columns: dict[str, list[Pair]] = {}
    for pair in pairs:
        columns.setdefault(pair.method, []).append(pair)
    return {
        method: agreement(
            {pair.memory: pair.ours.value for pair in column if pair.ours.value is not None},
            {pair.memory: pair.published.value for pair in column},
        )
        for method, column in columns.items()
        if len(column) > 1
    }


def beside_table(runs: Sequence[Run]) -> Table:
    """Ours, published, difference; empty where the paper has nothing of this setting."""
    pairs = beside(runs)
    rows = [Row((pair.method, pair.memory), _cells(pair), False) for pair in pairs]
    columns = ("ours", "published", "difference", "where")
    return Table("Beside the paper", ("method", "memory"), columns, tuple(rows), tuple(_caption(runs, pairs)))


def differences(runs: Sequence[Run], pairs: Sequence[Pair]) -> list[str]:
    """What differs in the set-up between these runs and the published ones, in words."""
    known = [settings(run) for run in runs]
    data = _values(pair.published.data for pair in pairs)
    images = _values(d.get("samples") for run in runs for d in run.summary.get("online", {}).get("domains", []))
    theirs = _values(document()["images_per_domain"].get(pair.published.data, "not stated") for pair in pairs)
    seeds = len({run.spec.get("seed", 0) for run in runs})
    regime = _values(s.get("regime.name") for s in known)
    return [
        f"Backbone: ours {_values(s.get('model.name') for s in known)}, "
        f"published {_values(pair.published.backbone for pair in pairs)}.",
        f"Data: ours {_values(s.get('data.name') for s in known)}, published {data}.",
        f"Images per corruption: ours {images}, published {theirs}.",
        f"Order of the domains: ours {_values(s.get('stream.domain_order') for s in known)}, published not stated.",
        f"Regime: ours {regime}, published steps of M samples (inferred). Seeds: ours {seeds}, published one.",
    ]


def _cells(pair: Pair) -> tuple[Cell, ...]:
    printed = Cell(pair.published.value, decimals=pair.published.decimals, seeds=pair.ours.seeds)
    ours = Cell(pair.ours.value, pair.ours.interval, pair.ours.seeds)
    change = Cell(pair.difference, seeds=pair.ours.seeds, signed=True)
    return ours, printed, change, Cell(absent=pair.published.where.replace("_", " "))


def _caption(runs: Sequence[Run], pairs: Sequence[Pair]) -> list[str]:
    if not pairs:
        return ["The paper has no number of this setting."]
    taus = "; ".join(f"{method} {found}" for method, found in agreements(pairs).items())
    places = {pair.published.place for pair in pairs}
    doubtful = [entry for entry in inconsistencies() if places & set(entry.places)]
    lines = ["Ours is another set-up, so levels differ; compare the order of the rows.", *differences(runs, pairs)]
    lines += [f"Agreement of the ranking, Kendall's tau-b: {taus}."] if taus else []
    note = f"{len(doubtful)} known inconsistencies of the paper touch these cells; see docs/paper-numbers.md."
    return lines + ([note] if doubtful else [])


def _as_published(run: Run, known: dict[str, Any]) -> bool:
    expected = {
        "stream.order": "dirichlet",
        "stream.schedule": "continual",
        "stream.severity": 5,
        "pairing": "paper",
        "regime.clock": "none",
    }
    usual = all(known.get(name, value) == value for name, value in expected.items())
    chosen = {
        name: value for name, value in known.items() if name.startswith("memory.arguments.") and value is not None
    }
    plain = all(name.endswith(".epsilon") and value == EPSILON for name, value in chosen.items())
    plain = plain and known.get("method.embedding", "probs") == "probs" and known.get("memory.refresh_every") is None
    return usual and plain and not run.spec.get("control")


def _capacity(run: Run) -> int | None:
    capacity = settings(run, ("memory",)).get("memory.capacity")
    return capacity if isinstance(capacity, int) else None


def _is_of(name: str, family: str) -> bool:
    return name.startswith(family) and not name.startswith("cifar100")


def _order(place: Any) -> tuple[Any, ...]:
    return place.column_order, place.row_order


def _values(values: Iterable[Any]) -> str:
    return " and ".join(dict.fromkeys(str(value) for value in values if value is not None)) or "not stated"
