"""`gotta data show`: a contact sheet of a data set or of a stream."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from gotta.show.contact_sheet import Row
    from gotta.types import Dataset


def show(
    name: Annotated[str, typer.Argument(help="A data set (gotta ls datasets).")] = "cifar10-mini",
    settings: Annotated[
        list[str] | None, typer.Argument(help="Stream settings as name=value show the stream instead of the data set.")
    ] = None,
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("sheet.png"),
    domain: Annotated[str, typer.Option(help="Domains by comma or wildcard, as snow-5 or '*-5'; all.")] = "",
    data_argument: Annotated[
        list[str] | None,
        typer.Option("--data-argument", "-a", help="An argument of the data set as name=value; may be repeated."),
    ] = None,
    rows: Annotated[int, typer.Option(min=1, max=200, help="At most so many rows, spread over all.")] = 20,
    columns: Annotated[int, typer.Option(min=1, max=50, help="At most so many pictures in a row.")] = 16,
) -> None:
    """Draw a data set: a row per class; per domain, if several are named; per clip, if it is video. Or draw a stream.

    Examples:

    - `gotta data show cifar10-mini --domain '*-5' --out corruptions.png`

    - `gotta data show cifar10-mini order=dirichlet gamma=0.1 per_class=25`

    - `gotta data show cifar10-mini-video order=iid clips=20 choose=random domains=gaussian_noise` : a stream of clips
    """
    from gotta.show.contact_sheet import contact_sheet

    if "=" in name:
        name, settings = "cifar10-mini", [name, *(settings or [])]
    dataset = _dataset(name, data_argument or [])
    names = _names(dataset, name)
    if settings:
        facts, made = _stream(dataset, names, settings, rows, columns)
    else:
        facts, made = _data(dataset, names, domain, rows, columns)
    print(facts)
    contact_sheet(out, name, facts, made)
    print(f"Picture: {out}")


def _dataset(name: str, arguments: list[str]) -> "Dataset":
    from gotta.data import dataset
    from gotta.experiment.spec.text import read_settings

    make: Callable[..., Dataset] = dataset
    return make(name, **read_settings(arguments))


def _data(dataset: "Dataset", names: list[str], domain: str, rows: int, columns: int) -> "tuple[str, list[Row]]":
    import numpy as np

    from gotta.show.dataset_rows import chosen_domains, class_rows, clip_rows, domain_rows

    domains = chosen_domains(dataset, domain)
    size = f"{len(dataset.labels):,} images, {dataset.num_classes} classes, {len(dataset.domains)} domains"
    clips = getattr(dataset, "clips", None)
    if len(domains) > 1:
        return f"{size}; {_of(len(domains), rows)} domains", domain_rows(dataset, names, domains, rows, columns)
    if clips is not None:
        count = len(np.unique(clips))
        made = clip_rows(dataset, np.asarray(clips), names, domains[0], rows, columns)
        return f"{size}; {domains[0]}; {_of(count, rows)} clips", made
    made = class_rows(dataset, names, domains[0], rows, columns)
    return f"{size}; {domains[0]}; {_of(len(np.unique(dataset.labels)), rows)} classes", made


def _stream(
    dataset: "Dataset", names: list[str], settings: list[str], rows: int, columns: int
) -> "tuple[str, list[Row]]":
    from gotta.experiment.spec.text import read_settings
    from gotta.show.stream_rows import batch_rows, clip_rows
    from gotta.show.stream_text import title
    from gotta.streams import Stream, StreamSpec

    stream = Stream(dataset, StreamSpec.of(**read_settings(settings)))
    if hasattr(dataset, "clips"):
        made = clip_rows(stream, names, rows, columns)
        return f"{title(stream.spec)}: {_of(len(stream.clip_starts), rows)} clips as they arrive", made
    shown = f"the first {columns} of up to {stream.batch_size} samples of {_of(len(stream), rows)} batches"
    return f"{title(stream.spec)}: {shown}", batch_rows(stream, names, rows, columns)


def _names(dataset: "Dataset", name: str) -> list[str]:
    from gotta.data.readers.cifar import CLASSES
    from gotta.show.dataset_rows import class_names

    return class_names(dataset, CLASSES if name.startswith("cifar10") else ())


def _of(count: int, most: int) -> str:
    return f"all {count}" if count <= most else f"{most} of {count}"
