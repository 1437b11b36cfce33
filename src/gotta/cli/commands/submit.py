"""`gotta submit`: one's own results, packed for the leaderboard."""

from pathlib import Path
from typing import Annotated

import typer


def submit(
    folder: Path,
    out: Path = Path("submission.jsonl"),
    imports: Annotated[list[str] | None, typer.Option("--import")] = None,
) -> None:
    """Pack finished runs for the leaderboard, if they can be ranked: a protocol with a version, 3 seeds, the controls,
    and parts of your own that pass `gotta check`.

    Example: `gotta submit runs/mine --import my_module`, then put submission.jsonl beside the other lines and
    `gotta leaderboard results` shows it.

    Arguments:
        folder: A folder that `gotta bench` wrote, or lines of `gotta keep`.

    Options:
        out: The file to write.
        imports: A module of your own that the runs name and that may be imported.
    """
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.workflow.submission import submit as pack

    count, names = pack(existing_runs(folder), out, imports or [])
    print(f"{out}: {count} runs of {', '.join(names)}, ready for the leaderboard")
