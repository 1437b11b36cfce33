"""`gotta report`: the tables of a folder of runs, from the store alone."""

from pathlib import Path

from gotta.cli.terminal import Console
from gotta.errors import GottaError


def report(folder: Path, metric: str = "accuracy", details: bool = False, out: Path | None = None) -> None:
    """Rebuild the report of finished runs: prints the table, writes report.html, tables.* and figures/ beside the runs.

    Examples:

    - `gotta report runs/mini`

    - `gotta report results/statistics.jsonl`

    Arguments:
        folder: A folder that `gotta bench` or `gotta run` wrote, or lines that `gotta keep` wrote.

    Options:
        metric: accuracy, error or seconds.
        details: Print settings, notes and what is known of each method, too.
        out: Where to write it. Default: beside the runs; of kept lines, runs/report-NAME.
    """
    from gotta.cli.progress import show_chapters, show_table
    from gotta.report.results import read_results
    from gotta.report.write import write_report

    results = read_results(folder)
    if not results.runs:
        damaged = "; ".join(f"{id}: {reason}" for id, reason in results.damaged[:3])
        told = f"every run in '{folder}' is damaged: {damaged}." if damaged else f"no finished runs in '{folder}'."
        raise GottaError(f"{told} Expected a folder of 'gotta bench', such as runs/mini.")
    for chapter in results.chapters:
        chapter.tables(metric)  # a metric that is not known is refused before anything is written
    path = write_report(results, to=out)  # before anything is printed, which may go to a pipe that closes early
    console = Console()
    show_chapters(console, results.chapters, metric, details)
    if results.choices.rows and details:
        show_table(console, results.choices)
    for id, reason in results.damaged:
        console.print(f"left out: run {id} is damaged: {reason}")
    console.print(f"Report: {path}", soft_wrap=True)
