"""`gotta data`: fetch, make and show data sets."""

from pathlib import Path
from typing import Annotated

import typer

from gotta.cli.data import data_download, data_show
from gotta.errors import GottaError, unknown

app = typer.Typer(help="Fetch, make and show data sets.", no_args_is_help=True)
app.command("download")(data_download.download)
app.command("show")(data_show.show)


@app.callback()
def group() -> None:
    pass


@app.command()
def make(
    name: Annotated[str, typer.Argument(help="What to make: cifar10-c, cifar100-c or imagenet-c.")],
    source: Annotated[Path, typer.Option(help="The clean images: an archive of CIFAR, or a folder or zip by class.")],
    out: Annotated[Path, typer.Option(help="The folder to write to.")],
    corruption: Annotated[str, typer.Option(help="Only these, by comma. Default: the 15 standard ones.")] = "",
    severity: Annotated[str, typer.Option(help="imagenet-c: only these, by comma. Default: 1 to 5.")] = "",
    size: Annotated[int | None, typer.Option(help="imagenet-c: the side of the images to write. Default: 224.")] = None,
    format: Annotated[str, typer.Option(help="imagenet-c: jpeg (quality 85, as published; default) or png.")] = "",
    seed: Annotated[int, typer.Option(help="Another seed gives other noise.")] = 0,
    workers: Annotated[int, typer.Option(help="Worker processes.")] = 1,
) -> None:
    """Corrupt clean images into the layout of CIFAR-10-C, CIFAR-100-C or ImageNet-C. Finished parts are kept.

    Examples:

    - `gotta data make cifar10-c --source cifar-10-binary.tar.gz --out CIFAR-10-C --workers 2`

    - `gotta data make imagenet-c --source photos/ --out ImageNet-C --corruption snow,fog --severity 5`
    """
    from gotta.cli.progress import counted
    from gotta.data import STANDARD, cifar10, cifar100
    from gotta.data.local.make_cifar_c import make_cifar_c
    from gotta.data.local.make_imagenet_c import make_imagenet_c, severities

    readers = {"cifar10-c": cifar10, "cifar100-c": cifar100}
    if name not in (*readers, "imagenet-c"):
        raise unknown("data set to make", name, [*readers, "imagenet-c"])
    for option, given in {"severity": severity, "size": size, "format": format}.items():
        if given not in ("", None) and name in readers:
            raise GottaError(
                f"--{option} is for imagenet-c; each file of {name} holds all five severities of 32 x 32 pixels. "
                f"Leave --{option} out, and name the severity where the data is used (severity=5)."
            )
    chosen = [part for part in corruption.split(",") if part] or list(STANDARD)
    with counted("images corrupted") as progress:
        if name == "imagenet-c":
            chosen_severities = severities(severity)
            shape = 224 if size is None else size, None, format or "jpeg"
            make_imagenet_c(source, out, chosen, chosen_severities, *shape, "imagenet", seed, workers, progress)
        else:
            images, labels = readers[name](source, "test")
            make_cifar_c(images, labels, out, chosen, seed=seed, workers=workers, progress=progress)
    print(f"Written: {out}")
