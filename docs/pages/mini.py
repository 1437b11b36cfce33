"""The tables and the answers of `mini` and `short` in docs/results."""

from pathlib import Path

from gotta.report.results import Chapter, read_results
from gotta.report.tables.render import markdown, prose
from pages.parts import between


def make(root: Path) -> dict[Path, str]:
    return {root / f"docs/results/{name}.md": page(root, name) for name in ("mini", "short")}


def page(root: Path, name: str) -> str:
    parts = read_results(root / f"results/{name}.jsonl").chapters
    path = root / f"docs/results/{name}.md"
    text = between(path.read_text(encoding="utf-8"), f"table of {name}", "\n\n".join(map(tables, parts)), path)
    answers = "\n\n".join(f"**{order(part)}** {prose(str(part.answer))}" for part in parts)
    return between(text, f"answer of {name}", answers, path)


def tables(part: Chapter) -> str:
    """Without headings and set-up: the page has its own."""
    shown = [markdown(table).splitlines() for table in part.tables()]
    kept = [[line for line in lines if line.startswith("|") or line.startswith("- ")] for lines in shown]
    grids = ["\n".join([line for line in lines if line.startswith("|")]) for lines in kept]
    return "\n\n".join([f"**{order(part)}**", *grids])


def order(part: Chapter) -> str:
    named = part.panel.runs[0].spec.stream["order"]
    return "i.i.d." if named == "iid" else f"{named.capitalize()}."
