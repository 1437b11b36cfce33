"""The tables and the answers of `mini` and `short` in docs/results."""

from pathlib import Path

from gotta.report.results import Chapter, read_results
from gotta.report.tables.render import markdown, prose
from pages.parts import fill


def make(root: Path) -> dict[Path, str]:
    return page(root, "mini") | page(root, "short")


def page(root: Path, name: str) -> dict[Path, str]:
    parts = read_results(root / f"results/{name}.jsonl").chapters
    contents = {
        f"table of {name}": "\n\n".join(map(tables, parts)),
        f"answer of {name}": "\n\n".join(f"**{order(part)}** {prose(str(part.answer))}" for part in parts),
    }
    return fill(root / f"docs/results/{name}.md", contents)


def tables(part: Chapter) -> str:
    """Without headings and set-up: the page has its own."""
    shown = [markdown(table).splitlines() for table in part.tables()]
    grids = ["\n".join([line for line in lines if line.startswith("|")]) for lines in shown]
    return "\n\n".join([f"**{order(part)}**", *grids])


def order(part: Chapter) -> str:
    named = part.panel.runs[0].spec.stream["order"]
    return "i.i.d." if named == "iid" else f"{named.capitalize()}."
