"""`gotta results`: pages of results, from kept lines alone."""

from pathlib import Path
from typing import Annotated

import typer


def results(
    runs: Annotated[Path, typer.Argument(help="A file of lines that `gotta keep` wrote, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Where to write the pages.")] = Path("docs/results/tables"),
) -> None:
    """Write a page for each file of lines: our numbers beside the paper's, how far the rankings agree, and what becomes
    of the paper's claims: confirmed, not distinguishable or reversed, each with its interval.

    The same lines give the same bytes. A page that this command did not make is not written over.

    Example: `gotta results results --out docs/results/tables`
    """
    from gotta.cli.stores import existing
    from gotta.report.results_pages import write_pages

    for path in write_pages(existing(runs).root, out):
        print(path)
