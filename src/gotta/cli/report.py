"""`gotta report`: the tables of a folder of runs, from the store alone."""

from pathlib import Path
from typing import Annotated

import typer

from gotta.errors import GottaError


def report(
    folder: Annotated[Path, typer.Argument(help="A folder that `gotta bench` or `gotta run` wrote.")],
    metric: Annotated[str, typer.Option(help="accuracy, error or seconds.")] = "accuracy",
) -> None:
    """Rebuild the report of finished runs: prints the table, writes report.html, tables.* and figures/ beside the runs.

    Example: `gotta report runs/mini`
    """
    from rich.console import Console

    from gotta.cli.progress import show_table
    from gotta.experiment.store import Store
    from gotta.report.tables import headline, panels, table, write_report

    store = Store(folder)
    runs = store.runs()
    if not runs:
        raise GottaError(f"no finished runs in '{folder}'. Expected a folder of 'gotta bench', such as runs/mini.")
    console = Console()
    found = panels(runs)
    for panel in found:
        if len(found) > 1:
            console.rule(panel.title, align="left")
        console.print(headline(panel.runs), highlight=False, markup=False)
        show_table(console, table(panel.runs, metric))
    for id, reason in store.damaged():
        console.print(f"left out: run {id} is damaged: {reason}", highlight=False, markup=False)
    console.print(f"Report: {write_report(folder)}", highlight=False, soft_wrap=True)
