"""Options that several commands share."""

import os
from pathlib import Path
from typing import Annotated

import typer


def _name_data_home(folder: Path | None) -> Path | None:
    """What is given here goes to everything below, worker processes too, in the one way they all look."""
    if folder is not None:
        from gotta.data.home import VARIABLE

        os.environ[VARIABLE] = str(folder.expanduser().absolute())
    return folder


DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        callback=_name_data_home,
        show_default=False,
        help="The folder of your data sets. Default: the one GOTTA_DATA names.",
    ),
]
