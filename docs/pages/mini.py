"""The tables and the answers of `mini` in docs/results/mini.md."""

from pathlib import Path

from gotta.report.results import Part, read_results
from gotta.report.tables.render import markdown, prose
from pages.parts import between


def make(root: Path) -> dict[Path, str]:
    parts = read_results(root / "results/mini.jsonl").parts
    path = root / "docs/results/mini.md"
    text = between(path.read_text(encoding="utf-8"), "table of mini", "\n\n".join(map(tables, parts)), path)
    answers = "\n\n".join(f"**{name(part)}** {prose(str(part.answer))}" for part in parts)
    return {path: between(text, "answer of mini", answers, path)}


def tables(part: Part) -> str:
    """Without headings and set-up: the page has its own."""
    shown = [markdown(table).splitlines() for table in part.tables()]
    kept = [[line for line in lines if line.startswith("|") or line.startswith("- ")] for lines in shown]
    grids = ["\n".join([line for line in lines if line.startswith("|")]) for lines in kept]
    return "\n\n".join([f"**{name(part)}**", *grids])


def name(part: Part) -> str:
    order = part.panel.runs[0].spec.stream["order"]
    return "i.i.d." if order == "iid" else f"{order.capitalize()}."
