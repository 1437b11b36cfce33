"""`gotta teaser`: the paper's first figure, which is one picture and not a table of runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gotta.errors import GottaError


def teaser(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer images, for a first look.")] = False,
    out: Annotated[Path, typer.Option(help="Where teaser.png and teaser.json are written.")] = Path("runs/teaser"),
    memory: Annotated[
        str, typer.Option(help="These memories instead of all: names, wildcards or module:Class, by comma.")
    ] = "",
    data: Annotated[str, typer.Option(help="This data set instead of the bundled images (gotta ls datasets).")] = "",
    seed: Annotated[int, typer.Option(help="Another seed draws another order of the stream.")] = 0,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be drawn.")] = False,
) -> None:
    """Draw what each memory holds of a two-class stream in which every image comes four times; seconds.

    Examples:

    - `gotta teaser`

    - `gotta teaser --quick --memory fifo,fps,my_policy:Mine`
    """
    from gotta.cli.progress import show_table
    from gotta.cli.terminal import Console
    from gotta.experiment.teaser import load_picture, run_teaser, shown_policies
    from gotta.files import check_writable
    from gotta.memory import policies
    from gotta.report.teaser import draw, tables

    console = Console()
    names = policies.match(memory) if memory else shown_policies()
    picture = load_picture()
    console.print(f"[bold]{picture.title}[/bold] (the paper's {picture.paper})", highlight=False)
    console.print(picture.note, style="dim", highlight=False, markup=False)
    console.print(f"{len(names)} memories, one picture, seconds: {', '.join(names)}", highlight=False)
    if dry_run:
        return
    check_writable(out / "teaser.png")
    with console.status("") as status:

        def told(done: int, total: int, policy: str) -> None:
            status.update(f"{done} of {total} memories: {policy}")

        result = run_teaser(out, names, quick, seed, told, **({"data": data} if data else {}))
    show_table(console, tables(result))
    console.print(f"Picture: {draw(result, out / 'teaser.png')}", highlight=False, soft_wrap=True)


def draw_for_bench(
    quick: bool, out: Path | None, memory: str, data: str, seeds: Sequence[int], dry_run: bool, others: Sequence[object]
) -> None:
    """`gotta bench teaser`, from before the picture had a command of its own."""
    if any(others):
        raise GottaError("the teaser is one picture and has no runs. What it takes: gotta teaser --help")
    print("The teaser has a command of its own: gotta teaser")
    teaser(quick, out or Path("runs/teaser"), memory, data, [*seeds, 0][0], dry_run)
