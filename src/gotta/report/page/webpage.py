"""The report as one page: no request, no framework, every text escaped, and a policy that forbids anything else."""

import base64
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import gotta
from gotta.experiment.run.memory_film import record_path
from gotta.groups import group
from gotta.json_yaml import read_json
from gotta.metrics.measures import MEASURES
from gotta.report.answer import overall
from gotta.report.cells import MARKS
from gotta.report.figures.svg import svg, swatch
from gotta.report.panel import Panel
from gotta.report.results import Chapter, Results
from gotta.report.series import BINS, series
from gotta.report.stored_run import Run
from gotta.report.tables.captions import environment_lines

ROOM = 2_200_000  # bytes of recordings at most
BEST, BEST_MEMORY = "the best of the table", "the best memory"
WINDOW = 6
POINTS = 30_000  # values of all runs of a page together, so that a large sweep stays a small page
COST = ("predict", "observe", "adapt", "refresh")
FOLDER = Path(__file__).parent
MODULES = ("numbers", "draw", "lines", "record", "run", "live", "page")  # each uses only those before it
CODE = re.compile(r"`([^`]*)`")
IMPORT = re.compile(r"^import [^;]*;\n", re.M)


def page(results: Results, records: Mapping[str, Any] | None = None, live: bool = False) -> str:
    """The whole report. `records` are the recordings to embed; a live page fetches them all and looks for news."""
    whole = results.placed.whole
    context = {
        "overall": overall([chapter.answer for chapter in results.chapters]),
        "environment": environment_lines(whole),
        "films": {chapter.anchor: films_of(chapter, results.filmed) for chapter in results.chapters},
    }
    return render("page.html.j2", results, run_facts(whole), context, results.filmed, records, live)


def render(
    template: str,
    results: Results,
    facts: Mapping[str, Any],
    context: Mapping[str, Any],
    filmed: Collection[str] = (),
    records: Mapping[str, Any] | None = None,
    live: bool = False,
) -> str:
    """The template with its data, style and script inlined, and their hashes in the page's content security policy."""
    style, script, records = style_sheet(), bundle(), records or {}
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "connect-src": "'self'" if live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    told = "; ".join(f"{name} {value}" for name, value in policy.items())
    inside = sorted(filmed if live else records)
    data = {"runs": facts, "recorded": sorted(filmed), "inside": inside, "curves": curves()}
    inlined = {"style": Markup(style), "script": Markup(script), "policy": told, "data": data, "records": records}
    known = {"results": results, "name": results.root.resolve().name, "live": live}
    return _environment().get_template(template).render(**known, **inlined, **context)


@cache
def bundle() -> str:
    """The modules as one script: they stand in the order of their imports, so these can go."""
    texts = [(FOLDER / f"{name}.js").read_text(encoding="utf-8") for name in MODULES]
    whole = "\n".join(re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M) for text in texts)
    assert "</script" not in whole
    return f"\n{whole}"


@cache
def style_sheet() -> str:
    return "\n" + (FOLDER / "page.css").read_text(encoding="utf-8")


def embed(value: Any) -> Markup:
    """JSON that can stand inside a script element whatever its texts say."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"marks": MARKS, "version": gotta.__version__}
    made.filters["embedded"] = embed
    made.filters["by_kind"] = lambda figures: group(figures, lambda figure: figure.kind).values()
    made.filters["drawn"] = lambda drawing: Markup(svg(drawing, alone=False))
    made.filters["said"] = said
    made.filters["swatch"] = lambda marks: Markup(swatch(marks))
    return made


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def said(text: str) -> Markup:
    """A sentence, its commands as code; a number stays on one line with its percent sign."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))).replace(" %", "&nbsp;%"))


def run_facts(panel: Panel) -> dict[str, dict[str, Any]]:
    """By id."""
    bins = max(24, min(BINS, POINTS // max(1, len(panel.runs))))
    labels = {run.id: f"{entry.name}, seed {run.seed}" for entry in panel.entries for run in entry.runs}
    return {run.id: {"label": labels[run.id], **_facts(run, bins)} for run in panel.runs}


def curves() -> dict[str, dict[str, Any]]:
    """How the measures of a memory are drawn over the stream: the title, and the limits where there are some."""
    return {
        name: {"title": measure.curve, **({"limits": [0, 1]} if measure.is_share else {})}
        for name, measure in MEASURES.items()
        if measure.curve
    }


def _facts(run: Run, bins: int) -> dict[str, Any]:
    line = series(run, bins)
    seconds = {name: run.numbers.get(f"cost.{name}.seconds") for name in COST}
    settings = {"id": run.id, **run.settings}
    return {
        "seed": run.seed,
        **{name: run.numbers.get(name) for name in ("accuracy", "error", "seconds")},
        "settings": [[name, _text(value)] for name, value in settings.items() if value not in (None, {}, [])],
        "domains": [[name, round(value, 2)] for name, value in run.scores().items()],
        "steps": line.steps,
        "at": list(line.at),
        "over": [round(value, 1) for value in line.accuracy(WINDOW)],
        "state": {name: _round(values) for name, values in line.state.items()},
        "visits": [[visit.name, visit.start, visit.end] for visit in line.visits],
        "decisions": {reason: count for reason, count in run.summary.decisions.items() if count},
        "cost": {name: round(value, 2) for name, value in seconds.items() if value is not None},
        "made": {name: _text(value) for name, value in run.environment.items() if value is not None},
    }


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _round(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else float(f"{value:.3g}") for value in values]


@dataclass(frozen=True)
class Film:
    """A recorded run: `why` it is of interest, if so; `order` puts the best and fps first."""

    id: str
    name: str
    why: str
    order: tuple[int, int, float, str]


def films_of(chapter: Chapter, filmed: Collection[str]) -> list[Film]:
    """Those of one table: the best cells, fps, other memories, then what has none; first seeds first."""
    memories = [entry for entry in chapter.panel.entries if entry.is_ranked and entry.row.is_memory]
    best = max(memories, key=lambda entry: entry.mean, default=None)
    found = []
    for entry in chapter.panel.entries:
        why = BEST if entry in chapter.answer.best else BEST_MEMORY if entry is best else ""
        kind = 0 if why else 1 if entry.row.name == "fps" else 2 if entry.row.is_memory else 3
        found += [
            Film(run.id, f"{entry.name}, seed {run.seed}", why, (run.seed, kind, -(run.accuracy or 0.0), run.id))
            for run in entry.runs
            if run.id in filmed
        ]
    return sorted(found, key=lambda film: film.order)


def choose_recordings(results: Results, room: int = ROOM) -> dict[str, Any]:
    """The recordings to put into a page, as many as there is room for; each table has its first before its second."""
    ranked = [(k, film) for chapter in results.chapters for k, film in enumerate(films_of(chapter, results.filmed))]
    chosen: dict[str, Any] = {}
    for _, film in sorted(ranked, key=lambda one: (one[1].order[:2], one[0], one[1].id)):
        path = record_path(results.root, film.id)
        size = path.stat().st_size
        document = read_record(path) if size <= room and film.id not in chosen else None
        if document is not None:
            chosen[film.id], room = document, room - size
    return chosen


def read_record(path: Path) -> dict[str, Any] | None:
    """None where the file is damaged."""
    try:
        document = read_json(path)
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("format") == 1 else None
