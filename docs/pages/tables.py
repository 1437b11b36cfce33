"""A page for each file of kept runs: ours beside the paper's, and what becomes of its claims; and an index."""

from collections.abc import Sequence
from pathlib import Path

from gotta.experiment.sweep.kept import Kept
from gotta.report.paper.side_by_side import beside_table
from gotta.report.results import Chapter, Results, read_results
from gotta.report.tables.render import markdown, prose
from gotta.report.write import answer_markdown
from gotta.safe_text import tell_number
from pages.claims import InTable, Judged, claims_table, judge, told_verdicts
from pages.parts import MADE, join

FOLDER = "docs/results/tables"


def make(root: Path) -> dict[Path, str]:
    files = Kept(root / "results").files
    pages, lines = {}, [MADE, "# Results by table", ""]
    for path in files:
        results = read_results(path)
        assert not results.damaged, f"{path}: {results.damaged[0]}"
        judged = [judge(part.panel) for part in results.chapters]
        title = prose(results.placed.whole.recipe or path.stem)
        pages[root / FOLDER / f"{path.stem}.md"] = page(path, results, title, judged)
        lines.append(line(path, results, title, [one for part in judged for one in part]))
    return {**pages, root / FOLDER / "README.md": "\n".join(lines) + "\n"}


def line(path: Path, results: Results, title: str, judged: Sequence[Judged]) -> str:
    """What the index says of a page."""
    seeds = tell_number(len({run.seed for run in results.runs}), "seed")
    found = f"claims of the paper: {told_verdicts(judged)}" if judged else "the paper has no claim of this setting"
    return f"- [{path.stem}]({path.stem}.md): {title}. {len(results.runs)} runs, {seeds}; {found}."


def page(path: Path, results: Results, title: str, judged: Sequence[list[InTable]]) -> str:
    versions = ", ".join(sorted({run.version for run in results.runs if run.version}))
    made = f"Made from the {len(results.runs)} runs in `{path.name}` alone (gotta {versions})."
    parts = [MADE, f"# {title}", f"{made} `gotta report {path.name}` shows them in full."]
    for part, found in zip(results.chapters, judged, strict=True):
        parts += part_text(part, found)
    return join(parts)


def part_text(part: Chapter, judged: list[InTable]) -> list[str]:
    texts = [f"## {prose(part.panel.title)}"] if part.of > 1 else []
    texts += [*answer_markdown(part.answer), *map(markdown, part.tables())]
    texts += [markdown(beside_table(part.beside))] if part.beside else ["The paper has no number of this setting."]
    told = f"Of {len(judged)} comparisons: {told_verdicts(judged)}."
    return [*texts, told, markdown(claims_table(judged))] if judged else texts
