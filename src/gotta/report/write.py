"""Everything that `gotta report` writes beside the runs, from the store alone: the same store gives the same bytes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.run.memory_film import record_path
from gotta.experiment.sweep.store import Run, Store
from gotta.files import write_atomically
from gotta.reading import read_json
from gotta.report.axes import panels
from gotta.report.figures import Figure, figures
from gotta.report.figures.raster import png
from gotta.report.figures.svg import svg
from gotta.report.page.webpage import page, recorded, with_recordings
from gotta.report.tables.csv_rows import table_csv
from gotta.report.tables.latex import tex
from gotta.report.tables.markdown import report_markdown

LARGEST = 4_900_000  # bytes of the page: recordings fill what the rest of it leaves
OURS = re.compile(r"(\d+-)?(capacity|cost|diagnostics|epsilon|factors|stream|wins)(-[a-z0-9-]+)?\.(svg|png)")
ROOM = 2_200_000  # bytes of recordings at most


def write_report(root: str | Path, pictures: bool = True) -> Path:
    """Write report.html, tables.md, tables.tex, tables.csv and figures/; the path of the page."""
    store = Store(root)
    runs = store.runs()
    if not runs and not store.damaged():
        raise GottaError(f"there are no runs in '{root}'. Name the folder that `gotta bench` wrote to.")
    store.check_folders()
    write_atomically(store.root / "tables.md", report_markdown(store))
    if runs:
        write_atomically(store.root / "tables.tex", tex(runs))
        write_atomically(store.root / "tables.csv", table_csv(runs))
        if pictures:
            _write_figures(store.root / "figures", named_figures(runs))
    path = store.root / "report.html"
    bare = page(store)
    room = min(ROOM, LARGEST - len(bare.encode()))
    write_atomically(path, with_recordings(bare, recordings(store, runs, room)))
    return path


def named_figures(runs: Sequence[Run]) -> dict[str, Figure]:
    """Every figure by the name of its file; several set-ups are numbered as on the page."""
    found = panels(runs)
    named = {figure.name: figure for figure in figures(runs, across=True)}
    for number, panel in enumerate(found, 1):
        prefix = f"{number}-" if len(found) > 1 else ""
        named |= {f"{prefix}{figure.name}": figure for figure in figures(panel.runs)}
    return named


def recordings(store: Store, runs: Sequence[Run], room: int = ROOM) -> dict[str, Any]:
    """The recordings of finished runs, as many as there is room for: first seeds, memories, and small ones first."""
    have = recorded(store)
    paths = {run.id: record_path(store.root, run.id) for run in runs if run.id in have}
    ranks = {run.id: (run.spec.get("seed", 0), run.spec["memory"]["name"] == "none") for run in runs}
    chosen: dict[str, Any] = {}
    for id in sorted(paths, key=lambda id: (ranks[id], paths[id].stat().st_size, id)):
        size = paths[id].stat().st_size
        document = read_record(paths[id]) if size <= room else None
        if document is not None:
            chosen[id], room = document, room - size
    return chosen


def read_record(path: Path) -> dict[str, Any] | None:
    """None where the file is damaged."""
    try:
        document = read_json(path)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("format") == 1 else None


def _write_figures(folder: Path, found: dict[str, Figure]) -> None:
    for name, figure in found.items():
        write_atomically(folder / f"{name}.svg", svg(figure.drawing) + "\n")
        write_atomically(folder / f"{name}.png", png(figure.drawing))
    for path in folder.glob("*"):  # of an earlier state of the sweep, with other set-ups and so other names
        if OURS.fullmatch(path.name) and path.stem not in found:
            path.unlink(missing_ok=True)
