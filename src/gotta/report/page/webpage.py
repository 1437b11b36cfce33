"""The report as one page: no request, no framework, every text escaped, and a policy that forbids anything else."""

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

import gotta
from gotta.report.answer import overall
from gotta.report.cells import MARKS
from gotta.report.figures import Figure
from gotta.report.figures.svg import svg, swatch
from gotta.report.filmed_runs import films_of
from gotta.report.page.run_facts import curves, run_facts
from gotta.report.results import Results
from gotta.report.tables.captions import environment_lines

FOLDER = Path(__file__).parent
MODULES = (
    "numbers.js",
    "draw.js",
    "lines.js",
    "record.js",
    "run.js",
    "live.js",
    "page.js",
)  # each uses only those before it
PLACE_OF_RECORDINGS = "<!-- recordings -->"
CODE = re.compile(r"`([^`]*)`")
IMPORT = re.compile(r"^import [^;]*;\n", re.M)


def page(results: Results, records: Mapping[str, Any] | None = None, live: bool = False) -> str:
    """The whole report. `records` are the recordings to embed; a live page fetches them all and looks for news."""
    whole = results.placed.whole
    inside = results.filmed if live else frozenset(records or {})
    films = {chapter.anchor: films_of(chapter, results.filmed) for chapter in results.chapters}
    watched = {anchor: [film for film in found if film.id in inside] for anchor, found in films.items()}
    context = {
        "name": results.root.resolve().name,
        "count": len(results.runs),
        "parts": results.chapters,
        "overall": overall([chapter.answer for chapter in results.chapters]),
        "across": results.across,
        "choices": results.choices,
        "environment": environment_lines(whole),
        "damaged": results.damaged,
        "version": gotta.__version__,
        "watched": watched,
        "left_out": {anchor: len(found) - len(watched[anchor]) for anchor, found in films.items()},
        "data": {
            "runs": run_facts(whole),
            "recorded": sorted(results.filmed),
            "inside": sorted(inside),
            "curves": curves(),
        },
        "live": live,
    }
    return with_recordings(render(context), records or {})


def with_recordings(text: str, records: Mapping[str, Any]) -> str:
    """The page with these recordings in it."""
    scripts = [
        f'<script type="application/json" id="record-{escape(id)}">{embed(record)}</script>'
        for id, record in records.items()
    ]
    before, place, after = text.partition(PLACE_OF_RECORDINGS)  # all other texts are escaped: there is one such place
    return "\n".join([before + place, *scripts]) + after


def render(context: Mapping[str, Any], template: str = "page.html.j2") -> str:
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
    inlined = {"style": Markup(style), "script": Markup(script), "recordings": Markup(PLACE_OF_RECORDINGS)}
    return _environment().get_template(template).render(**context, **inlined, policy=told)


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
        groups.setdefault(figure.kind, []).append(figure)
    return list(groups.values())


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
    made.globals["marks"] = MARKS
    made.filters["embedded"] = embed
    made.filters["by_kind"] = by_kind
    made.filters["drawn"] = lambda drawing: Markup(svg(drawing, alone=False))
    made.filters["said"] = said
    made.filters["swatch"] = lambda marks: Markup(swatch(marks))
    return made


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def said(text: str) -> Markup:
    """A sentence, its commands as code; a number stays on one line with its percent sign."""
    return Markup(CODE.sub(r"<code>\1</code>", str(escape(text))).replace(" %", "&nbsp;%"))
