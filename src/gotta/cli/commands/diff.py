"""`gotta diff`: two folders of runs compared."""

from pathlib import Path
from typing import Annotated

import typer


def diff(
    a: Annotated[Path, typer.Argument(help="A folder of runs.")],
    b: Annotated[Path, typer.Argument(help="Another one.")],
) -> None:
    """Show which cells only one folder has, which settings differ, and which numbers changed, with significance.

    A setting that has one value throughout A and another throughout B (say, a model) is named once, and the cells are
    compared all the same.

    Example: `gotta diff runs/mini runs/mini-new`
    """
    from gotta.cli.progress import show_table
    from gotta.cli.stores import finished
    from gotta.cli.terminal import Console
    from gotta.printable import one_line
    from gotta.report.store.diff import change_table, compare

    changes = compare(finished(a), finished(b))
    console = Console()

    def say(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    say(f"A: {a}\nB: {b}")
    for title, entries in (("setting", changes.settings), ("environment", changes.environment)):
        for name, before, after in entries:
            say(one_line(f"{title} {name}: A {before}, B {after}"))
    for name, cells in (("A", changes.only_a), ("B", changes.only_b)):
        for cell in cells:
            say(one_line(f"only in {name}: {cell}"))
    found = change_table(changes)
    if found.rows:
        show_table(console, found)
    else:
        say(found.caption[0])
