"""The tables of a report as one Markdown text, from the store alone: the same store gives the same bytes."""

from collections.abc import Iterable, Sequence

from gotta.experiment.sweep.store import Run, Store
from gotta.report.answer import headline
from gotta.report.axes import panels
from gotta.report.paper.side_by_side import beside_table
from gotta.report.tables.captions import environment_lines
from gotta.report.tables.comparison import table
from gotta.report.tables.details import calibration_table, cost_table, domain_table, memory_table
from gotta.report.tables.gains import BASELINES, gain_table, has_baseline
from gotta.report.tables.matrix import matrix_table
from gotta.report.tables.render import markdown, prose


def report_markdown(store: Store) -> str:
    """Every set-up with its tables, then the environment and the runs that could not be read."""
    runs = store.runs()
    found = panels(runs)
    parts = ["# Report", f"{len(runs)} finished runs."]
    for number, panel in enumerate(found, 1):
        title = str(panel.runs[0].spec.get("recipe") or "runs")
        parts.append(prose(f"## {title}" if len(found) == 1 else f"## Set-up {number}: {title} ({panel.title})"))
        parts += [prose(headline(panel.runs)), *_tables(panel.runs)]
    parts += ["## Environment", _bullets(environment_lines(runs) or ["no finished runs"])]
    damaged = store.damaged()
    if damaged:
        parts += ["## Damaged runs", "Left out of every table. The next sweep runs them again."]
        parts += [_bullets(f"`{id}`: {reason}" for id, reason in damaged)]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _tables(runs: Sequence[Run]) -> list[str]:
    gained = [gain_table(runs, baseline) for baseline in BASELINES if has_baseline(runs, baseline)]
    compared = [matrix_table(runs), beside_table(runs)]
    return [
        markdown(table(runs, "accuracy")),
        markdown(table(runs, "error")),
        *(markdown(found) for found in (*gained, *compared) if found.rows),
        markdown(domain_table(runs)),
        markdown(memory_table(runs)),
        markdown(cost_table(runs)),
        markdown(calibration_table(runs)),
    ]


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {prose(line)}" for line in lines)
