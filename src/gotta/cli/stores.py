"""Opening the stores of commands that only read."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gotta.errors import GottaError

if TYPE_CHECKING:
    from gotta.experiment.sweep.kept import Kept
    from gotta.experiment.sweep.store import Store
    from gotta.report.stored_run import Run


def existing(folder: Path) -> "Store | Kept":
    """The store in a folder, or the kept lines, that must be there."""
    from gotta.experiment.sweep.bucket import is_folder
    from gotta.experiment.sweep.kept import open_runs

    if not folder.exists() and is_folder(folder):
        raise GottaError(f"there is no folder '{folder}'. Name one that 'gotta bench' wrote to, such as runs/mini.")
    return open_runs(folder)


def finished(folder: Path) -> "list[Run]":
    """Its readable runs, at least one; damaged ones are named on standard error."""
    from gotta.experiment.sweep.bucket import name_of
    from gotta.report.stored_run import read_runs

    runs, damaged = read_runs(existing(folder))
    name = name_of(folder)
    for id, reason in damaged:
        print(f"left out: run {id} in {name} is damaged: {reason}", file=sys.stderr)
    if not runs:
        raise GottaError(f"no finished runs in '{name}'. Expected a folder of 'gotta bench', such as runs/mini.")
    return runs
