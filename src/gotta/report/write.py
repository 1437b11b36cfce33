"""Everything that `gotta report` writes beside the runs, from the store alone: the same store gives the same bytes."""

import csv
import logging
from collections.abc import Iterable
from io import StringIO
from pathlib import Path

from gotta.errors import GottaError
from gotta.experiment.sweep.kept import Kept, open_runs
from gotta.experiment.sweep.store import Store
from gotta.files import write_atomically
from gotta.report.answer import Answer
from gotta.report.figures import Figure, is_figure_file
from gotta.report.figures.raster import png
from gotta.report.figures.svg import svg
from gotta.report.latex import tex
from gotta.report.page.webpage import ROOM, choose_recordings, page
from gotta.report.results import Results
from gotta.report.tables.captions import environment_lines
from gotta.report.tables.render import markdown, prose
from gotta.safe_text import csv_value

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


COLUMNS = ("set_up", "table", "row", "column", "value", "interval", "seeds", "tied", "uses_order")


def table_csv(results: Results) -> str:
    """One line for each number; an interval is half its width, at 95 %."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    named = [(chapter.panel.title, table) for chapter in results.chapters for table in chapter.all_tables]
    for title, table in [*named, ("", results.choices)]:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                if cell.value is not None:
                    number = cell.value, cell.interval, cell.seeds, int(cell.tied), int(cell.uses_order)
                    place = title, table.title, " + ".join(row.names), column
                    writer.writerow(map(csv_value, (*place, *number)))
    return text.getvalue()


def report_markdown(results: Results) -> str:
    """Every set-up with its tables, then the environment and the runs that could not be read."""
    parts = ["# Report", f"{len(results.runs)} finished runs."]
    for part in results.chapters:
        title = part.panel.recipe or "runs"
        parts.append(prose(f"## Set-up {part.number}: {title} ({part.panel.title})" if part.of > 1 else f"## {title}"))
        parts += [*answer_markdown(part.answer), *map(markdown, part.all_tables)]
    parts += [markdown(results.choices)] if results.choices.rows else []
    parts += ["## Environment", _bullets(environment_lines(results.placed.whole) or ["no finished runs"])]
    if results.damaged:
        parts += ["## Damaged runs", "Left out of every table. A sweep that asks for them runs them again."]
        parts += [_bullets(f"`{id}`: {reason}" for id, reason in results.damaged)]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def answer_markdown(answer: Answer) -> list[str]:
    """The headline, what it means, and what is said of each method."""
    return [prose(answer.headline), *(_bullets(lines) for lines in (answer.lines, answer.details) if lines)]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {prose(line)}" for line in lines)
