"""Pages of results from kept lines alone: ours beside the paper's, and what becomes of its claims."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gotta.errors import GottaError
from gotta.experiment.sweep.kept import Kept
from gotta.files import write_atomically
from gotta.report.paper.claims import Judged, claims_table, judge, told_verdicts
from gotta.report.paper.side_by_side import beside_table
from gotta.report.part import Part
from gotta.report.results import Results, read_results
from gotta.report.tables.markdown import answer_markdown
from gotta.report.tables.render import markdown, prose

INDEX = "README.md"
MADE = "<!-- made by gotta results: not edited by hand -->"


@dataclass(frozen=True, eq=False)
class ResultsPage:
    """The page of one file of lines."""

    path: Path
    results: Results

    @cached_property
    def judged(self) -> list[list[Judged]]:
        """The claims of each part."""
        return [judge(part.panel) for part in self.results.parts]

    @property
    def title(self) -> str:
        return self.results.placed.whole.recipe or self.path.stem

    @property
    def line(self) -> str:
        """What the index says of it."""
        seeds = len({run.seed for run in self.results.runs})
        found = told_verdicts([one for part in self.judged for one in part])
        told = f"; claims of the paper: {found}" if found else "; the paper has no claim of this setting"
        return (
            f"- [{self.path.stem}]({self.path.stem}.md): {prose(self.title)}. {len(self.results.runs)} runs, "
            f"{seeds} {'seed' if seeds == 1 else 'seeds'}{told}."
        )

    def text(self) -> str:
        """The page, the same for the same lines."""
        versions = ", ".join(sorted({run.version for run in self.results.runs if run.version}))
        parts = [
            MADE,
            f"# {prose(self.title)}",
            f"Made by `gotta results` from the {len(self.results.runs)} runs in `{self.path.name}` alone (gotta "
            f"{versions}). `gotta report {self.path.name}` shows them in full.",
        ]
        for part, judged in zip(self.results.parts, self.judged, strict=True):
            parts += _part_text(part, judged)
        return "\n\n".join(text.rstrip() for text in parts) + "\n"


def write_pages(runs: Path, to: Path) -> list[Path]:
    """A page for each file of lines, and an index; nothing is written over what somebody else wrote."""
    found = Kept(runs)
    pages = [ResultsPage(path, _whole(path)) for path in found.files]
    if not pages:
        raise GottaError(f"there are no lines in '{runs}'. Expected files that 'gotta keep' wrote.")
    texts = {to / f"{page.path.stem}.md": page.text() for page in pages}
    texts[to / INDEX] = "\n".join([MADE, "# Results by table", "", *(page.line for page in pages)]) + "\n"
    for path in texts:
        if path.exists() and not path.read_text(encoding="utf-8").startswith(MADE):
            raise GottaError(f"'{path}' was not made by this command, and nothing was written. Name another --out.")
    for path, text in texts.items():
        write_atomically(path, text)
    return list(texts)


def _whole(path: Path) -> Results:
    results = read_results(Kept(path))
    if results.damaged:
        id, reason = results.damaged[0]
        raise GottaError(f"{id} is damaged: {reason}. Take the file from version control, or delete the line.")
    if not results.runs:
        raise GottaError(f"'{path}' holds no runs.")
    return results


def _part_text(part: Part, judged: list[Judged]) -> list[str]:
    texts = [f"## {prose(part.panel.title)}"] if part.of > 1 else []
    texts += [*answer_markdown(part.answer), markdown(part.table())]
    texts += [markdown(beside_table(part.beside))] if part.beside else ["The paper has no number of this setting."]
    if judged:
        table = claims_table(judged)
        return [*texts, f"Of {len(judged)} comparisons: {told_verdicts(judged)}.", markdown(table)]
    return texts
