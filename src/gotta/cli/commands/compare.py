"""`gotta compare`: two entries of a folder of runs, or two folders."""

from pathlib import Path

from gotta.cli.options import AsJson, finished, show_answer
from gotta.errors import GottaError


def compare(folder: Path, first: str, second: str | None = None, as_json: AsJson = False) -> None:
    """Say how two entries differ, paired on the same streams: the difference, its interval, the number of pairs, and
    how many more seeds or domains would settle it. Only like is compared with like; an error names what differs.

    With two folders: which cells only one has, which settings differ, and which numbers changed.

    Examples:

    - `gotta compare runs/mini fps cstu`

    - `gotta compare runs/mini runs/mini-new`

    Arguments:
        folder: A folder of runs, or lines that `gotta keep` wrote.
        first: A memory, method or entry (`rotta + fps`); or another folder.
        second: What to compare it with.
    """
    from gotta.experiment.sweep.bucket import is_folder
    from gotta.report.compare import compare as compare_entries
    from gotta.report.panel import place

    if second is None:
        if is_folder(first) and not Path(first).exists():
            way_out = f"Give a second entry (`gotta compare {folder} {first} fifo`), or another folder of runs"
            raise GottaError(f"compare '{first}' with what? {way_out}; there is no folder '{first}'.")
        return compare_folders(folder, Path(first), as_json)
    show_answer(compare_entries(place(finished(folder)).panels, first, second), as_json)


def compare_folders(a: Path, b: Path, as_json: bool) -> None:
    from gotta.experiment.sweep.bucket import name_of
    from gotta.report.store.changes import change_table, find_changes
    from gotta.report.tables.render import plain
    from gotta.safe_text import one_line

    changes = find_changes(finished(a), finished(b))
    lines = [f"setting {name}: A {before}, B {after}" for name, before, after in changes.settings]
    lines += [f"environment {name}: A {before}, B {after}" for name, before, after in changes.environment]
    lines += [f"only in A: {cell}" for cell in changes.only_a] + [f"only in B: {cell}" for cell in changes.only_b]
    found = change_table(changes)
    last = plain(found) if found.rows else found.caption[0]
    show_answer(changes, as_json, "\n".join([f"A: {name_of(a)}", f"B: {name_of(b)}", *map(one_line, lines), last]))
