"""The report as one page: no request, no framework, every text escaped, and a policy that forbids anything else."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import gotta
from gotta.experiment.run.memory_film import FOLDER as FOLDER_OF_RECORDS
from gotta.experiment.sweep.store import Run, Store
from gotta.report.answer import Answer, answer, overall
from gotta.report.axes import Panel, panels
from gotta.report.figures import Figure, figures
from gotta.report.figures.svg import svg
from gotta.report.page.run_facts import run_facts
from gotta.report.page.views import View, views
from gotta.report.paper.side_by_side_matrix import Beside, beside_matrix
from gotta.report.tables.captions import environment_lines, setup_lines
from gotta.report.tables.cells import Table
from gotta.report.tables.details import calibration_table, cost_table, domain_table, memory_table

FOLDER = Path(__file__).parent
MODULES = ("numbers.js", "draw.js", "record.js", "run.js", "live.js", "page.js")  # each uses only those before it
PLACE_OF_RECORDINGS = "<!-- recordings -->"
IMPORT = re.compile(r"^import [^;]*;\n", re.M)


@dataclass(frozen=True)
class Part:
    """One table of the report with everything that is told about it."""

    anchor: str
    title: str
    answer: Answer
    views: list[View]
    beside: Beside | None
    figures: list[list[Figure]]  # by kind
    details: list[Table]
    setup: list[str]


def page(store: Store, records: Mapping[str, Any] | None = None, live: bool = False) -> str:
    """The whole report. `records` are the recordings to embed; a live page fetches those and looks for news."""
    runs, damaged = store.runs(), store.damaged()
    found = panels(runs)
    parts = [_part(k, panel, len(found)) for k, panel in enumerate(found, 1)]
    context = {
        "name": store.root.resolve().name,
        "count": len(runs),
        "parts": parts,
        "overall": overall([part.answer for part in parts]),
        "across": by_kind(figures(runs, across=True)),
        "environment": environment_lines(runs),
        "damaged": damaged,
        "version": gotta.__version__,
        "data": {"runs": run_facts(runs), "recorded": sorted(recorded(store))},
        "live": live,
    }
    return with_recordings(render(context), records or {})


def with_recordings(text: str, records: Mapping[str, Any]) -> str:
    """The page with these recordings in it."""
    scripts = [
        f'<script type="application/json" id="record-{escape(id)}">{embedded(record)}</script>'
        for id, record in records.items()
    ]
    before, place, after = text.partition(PLACE_OF_RECORDINGS)  # all other texts are escaped: there is one such place
    return "\n".join([before + place, *scripts]) + after


def recorded(store: Store) -> set[str]:
    """The ids of the runs that have a recording."""
    found = (store.root / FOLDER_OF_RECORDS).glob("*.json")
    return {path.stem for path in found if path.is_file() and not path.is_symlink()}


def render(context: Mapping[str, Any]) -> str:
    """The template with its style and script inlined, and their hashes in the page's content security policy."""
    style, script = style_sheet(), bundle()
    policy = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "connect-src": "'self'" if context["live"] else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    told = "; ".join(f"{name} {value}" for name, value in policy.items())
    template = _environment().get_template("page.html.j2")
    return template.render(
        **context, recordings=Markup(PLACE_OF_RECORDINGS), style=Markup(style), script=Markup(script), policy=told
    )


@cache
def bundle() -> str:
    """The modules as one script: they stand in the order of their imports, so these can go."""
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in MODULES]
    whole = "\n".join(re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M) for text in texts)
    assert "</script" not in whole
    return f"\n{whole}"


@cache
def style_sheet() -> str:
    return "\n" + (FOLDER / "page.css").read_text(encoding="utf-8")


def by_kind(found: Sequence[Figure]) -> list[list[Figure]]:
    """The figures of one kind together, which differ in their method."""
    groups: dict[str, list[Figure]] = {}
    for figure in found:
        groups.setdefault(figure.name.partition("-")[0], []).append(figure)
    return list(groups.values())


def embedded(value: Any) -> Markup:
    """JSON that can stand inside a script element whatever its texts say."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _part(number: int, panel: Panel, of: int) -> Part:
    runs: Sequence[Run] = panel.runs
    recipe = str(runs[0].spec.get("recipe") or "")
    details = [domain_table(runs), memory_table(runs), cost_table(runs), calibration_table(runs)]
    return Part(
        f"set-up-{number}",
        panel.title if of > 1 else recipe,
        answer(runs),
        views(runs),
        beside_matrix(runs),
        by_kind(figures(runs)),
        [table for table in details if table.rows],
        setup_lines(runs),
    )


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["embedded"] = embedded
    made.filters["drawn"] = lambda drawing: Markup(svg(drawing, alone=False))
    return made


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
