"""The tables of a report as one Markdown text, from the store alone: the same store gives the same bytes."""

from collections.abc import Iterable

from gotta.report.answer import Answer
from gotta.report.results import Results
from gotta.report.tables.captions import environment_lines
from gotta.report.tables.render import markdown, prose


def report_markdown(results: Results) -> str:
    """Every set-up with its tables, then the environment and the runs that could not be read."""
    parts = ["# Report", f"{len(results.runs)} finished runs."]
    for number, part in enumerate(results.chapters, 1):
        title = part.panel.recipe or "runs"
        several = len(results.chapters) > 1
        parts.append(prose(f"## Set-up {number}: {title} ({part.panel.title})" if several else f"## {title}"))
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
