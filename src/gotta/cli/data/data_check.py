"""`gotta data check`: what is there, what is missing, what is damaged."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gotta.cli.json_output import AsJson, print_json

if TYPE_CHECKING:
    from gotta.cli.terminal import Console
    from gotta.data.local.holdings import Finding

COLOURS = {"complete": "green", "packed": "cyan", "partial": "yellow", "damaged": "red", "absent": "dim"}


def check(
    folder: Annotated[
        Path | None, typer.Argument(metavar="[DIR]", help="The folder. Default: the data folder.")
    ] = None,
    full: Annotated[bool, typer.Option("--hash", help="Compare every published checksum; reads everything.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say what a folder holds and in what state. Exit code 1 if something is damaged, else 0.

    Examples:

    - `gotta data check ~/data`

    - `gotta data check --hash --json`
    """
    from gotta.cli.terminal import Console
    from gotta.data.home import home
    from gotta.data.local.holdings import check as look
    from gotta.data.local.holdings import strangers

    folder = home() if folder is None else folder.expanduser()
    console = Console()
    if full and console.is_terminal and not as_json:
        with console.status("reading") as status:
            done = 0

            def seen(count: int) -> None:
                nonlocal done
                done += count
                status.update(f"{done / 1e9:.1f} GB compared")

            findings = look(folder, full, seen)
    else:
        findings = look(folder, full)
    if as_json:
        print_json(findings)
    else:
        _print(console, folder, findings, strangers(folder, findings))
    if any(finding.state == "damaged" for finding in findings):
        raise typer.Exit(1)


def _print(console: "Console", folder: Path, findings: "list[Finding]", others: list[Path]) -> None:
    from rich.table import Table
    from rich.text import Text

    from gotta.safe_text import one_line, tell_bytes, tell_few

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("name", "state", "where", "size", "what was seen"):
        table.add_column(
            column, justify="right" if column == "size" else "left", overflow="fold", no_wrap=column == "state"
        )
    for finding in (finding for finding in findings if finding.path):
        size = "" if finding.size is None else tell_bytes(finding.size)
        state = Text(finding.state, style=COLOURS[finding.state])
        table.add_row(
            finding.name,
            state,
            Text(one_line(_where(finding.path, folder))),
            size,
            Text(one_line("; ".join(finding.notes))),
        )
    if table.row_count:
        console.print(table)
    for finding in findings:
        if not finding.path:
            line = f"absent  {finding.name:<18} {'; '.join(finding.notes)}"
            console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    if others:
        names = tell_few([one_line(path.name) for path in others], 10)
        console.print(f"Not known to gotta: {names}", highlight=False, markup=False)
    counts = {state: sum(finding.state == state for finding in findings) for state in COLOURS}
    console.print(", ".join(f"{count} {state}" for state, count in counts.items() if count), highlight=False)


def _where(path: Path | None, folder: Path) -> str:
    if path is None:
        return ""
    return str(path.relative_to(folder)) if path != folder and path.is_relative_to(folder) else path.name or str(path)
