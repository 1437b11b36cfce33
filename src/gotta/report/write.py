"""Everything that `gotta report` writes beside the runs, from the store alone: the same store gives the same bytes."""

import logging
from pathlib import Path

from gotta.errors import GottaError
from gotta.experiment.sweep.kept import Kept, open_runs
from gotta.experiment.sweep.store import Store
from gotta.files import write_atomically
from gotta.report.figures import Figure, is_figure_file
from gotta.report.figures.raster import png
from gotta.report.figures.svg import svg
from gotta.report.files.csv_rows import table_csv
from gotta.report.files.latex import tex
from gotta.report.files.markdown import report_markdown
from gotta.report.filmed_runs import ROOM, choose_recordings
from gotta.report.page.webpage import page
from gotta.report.results import Results

LOG = logging.getLogger(__name__)
LARGEST = 4_900_000  # bytes of the page: recordings fill what the rest of it leaves


def write_report(results: Results, pictures: bool = True, to: Path | None = None) -> Path:
    """Write report.html, tables.md, tables.tex, tables.csv and figures/; the path of the page.

    They are written to `to`; if that is left open beside the runs, or for kept lines in runs/report-NAME.
    """
    root = to or _usual_place(results.root)
    if not results.runs and not results.damaged:
        raise GottaError(f"there are no runs in '{results.root}'. Name the folder that `gotta bench` wrote to.")
    Store(root).check_folders()
    write_atomically(root / "tables.md", report_markdown(results))
    if results.runs:
        write_atomically(root / "tables.tex", tex(results))
        write_atomically(root / "tables.csv", table_csv(results))
        if pictures:
            _write_figures(root / "figures", named_figures(results))
    path = root / "report.html"
    room = min(ROOM, LARGEST - len(page(results).encode())) if results.filmed else 0
    write_atomically(path, page(results, choose_recordings(results, room)))
    LOG.info("wrote %s from %d runs", path, len(results.runs))
    return path


def _usual_place(root: Path) -> Path:
    return Path("runs") / f"report-{root.resolve().stem}" if isinstance(open_runs(root), Kept) else root


def named_figures(results: Results) -> dict[str, Figure]:
    """Every figure by the name of its file; several set-ups are numbered as on the page."""
    named = {figure.name: figure for figure in results.across}
    for chapter in results.chapters:
        prefix = f"{chapter.number}-" if chapter.of > 1 else ""
        named |= {f"{prefix}{figure.name}": figure for figure in chapter.figures}
    return named


def _write_figures(folder: Path, found: dict[str, Figure]) -> None:
    for name, figure in found.items():
        write_atomically(folder / f"{name}.svg", svg(figure.drawing) + "\n")
        write_atomically(folder / f"{name}.png", png(figure.drawing))
    for path in folder.glob("*"):  # of an earlier state of the sweep, with other set-ups and so other names
        if is_figure_file(path.name) and path.stem not in found:
            path.unlink(missing_ok=True)
