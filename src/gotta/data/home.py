"""Where data sets are kept: the one folder that GOTTA_DATA names (`--data-dir` sets it), else the user's own for data
of programs; never the current one."""

import os
import sys
from pathlib import Path

from gotta.errors import GottaError

VARIABLE = "GOTTA_DATA"


def named_home() -> Path:
    """The folder that is the data home, whether it is there or not."""
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "gotta"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "gotta"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "gotta"


def locate(what: str, *names: str) -> Path:
    """The first of these names that the data home holds; `what` is whom they belong to."""
    folder, expected = named_home(), " or ".join(names)
    if not folder.is_dir():
        way_out = f"Make it, or let {VARIABLE} or --data-dir name another."
        raise GottaError(f"{what} ({expected}) is needed, and the data folder '{folder}' does not exist. {way_out}")
    for name in names:
        if (folder / name).exists():
            return folder / name
    packed = [f"{name}.tar" for name in names if (folder / f"{name}.tar").exists()]
    hint = f" Unpack {packed[0]} there." if packed else ""
    raise GottaError(f"{what} is not in '{folder}'. Expected there: {expected}.{hint}")


def find(what: str, path: str | Path | None, *names: str) -> Path:
    """What the caller named, else the first of these names in the data home.

    A bare name is one in the data home; a text with a slash, or a Path, is a path.
    """
    if path is None:
        return locate(what, *names)
    if isinstance(path, str) and not {"/", os.sep} & set(path):
        try:
            return locate(what, path)
        except GottaError as error:
            raise GottaError(f"{error} A path of your own has a slash: ./{path}") from None
    given = Path(path).expanduser()
    if not given.exists():
        raise GottaError(f"nothing at '{given}', where {what} should be. Expected an existing path.")
    return given
