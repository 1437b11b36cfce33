"""`gotta data`: fetch, make and show data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gotta.errors import GottaError, check_known
from gotta.safe_text import tell_bytes

if TYPE_CHECKING:
    from gotta.data.local.catalogue import Form
    from gotta.show.contact_sheet import Row
    from gotta.types import Dataset


def download(name: str | None = None, only: str = "", unpack: bool = False, dry_run: bool = False) -> None:
    """Fetch official files into the data folder, verified by size and checksum. Repeat the command to go on.

    Examples:

    - `gotta data download cifar10-c --data-dir ~/data --unpack`

    - `gotta data download imagenet-c --only noise --dry-run`

    Arguments:
        name: What to fetch. Without it: a list of what there is, and of what you have.

    Options:
        only: Only these parts, by comma, such as noise,blur of imagenet-c.
        unpack: Unpack the archives; they are kept.
        dry_run: Only print what would be fetched.
    """
    from gotta.cli.progress import counted
    from gotta.data.home import named_home
    from gotta.data.local.catalogue import chosen, entry
    from gotta.data.local.download import fetch
    from gotta.data.local.unpack import unpack as unpack_archive

    if name is None:
        return _list()
    found = entry(name)
    forms = chosen(found, only)
    folder = named_home()  # made if it is not there yet
    _announce(found.title, forms, folder)
    if dry_run:
        return
    for form in forms:
        there = (folder / form.name).exists()
        try:
            with counted(f"bytes of {form.name}") as progress:
                path = fetch(form, folder, progress)
        except KeyboardInterrupt:
            print(f"\nStopped. What arrived of {form.name} is kept; run the command again to go on.")
            raise typer.Exit(130) from None
        print(f"{'There already' if there else 'Fetched and verified'}: {path}")
        if unpack and (form.packed or form.name.endswith(".zip")):
            print(f"Unpacking {form.name} ...")
            brought = unpack_archive(path, folder / form.into)
            print("\n".join(f"Unpacked: {one}" for one in brought) or f"All of {form.name} is unpacked already.")
    if not unpack and any(form.packed for form in forms):
        print(f"To unpack: gotta data download {name}{f' --only {only}' if only else ''} --unpack")


def _list() -> None:
    from gotta.data.local.catalogue import catalogue

    for entry in catalogue().values():
        parts = ", ".join(f"{form.part} {tell_bytes(form.size)}" for form in entry.downloads)
        there = "there" if entry.is_there else "-"
        print(f"{entry.name:<20} {there:<6} {entry.title}: {parts or entry.hint or 'no address'}")


def _announce(title: str, forms: "list[Form]", folder: Path) -> None:
    from gotta.data.local.download import host

    total = sum(form.size for form in forms)
    print(f"{title}: {len(forms)} file{'s' if len(forms) > 1 else ''}, {tell_bytes(total)}, into {folder}")
    for form in forms:
        checked = "sha256" if form.sha256 else "md5"
        there = "  (there already)" if (folder / form.name).exists() else ""
        print(f"  {form.name}  {tell_bytes(form.size)}  from {host(form.address)}  ({checked}){there}")


def make(
    name: str,
    source: Path,
    out: Path,
    corruption: str = "",
    severity: str = "",
    size: int | None = None,
    format: str = "",
    seed: int = 0,
    workers: int = 1,
) -> None:
    """Corrupt clean images into the layout of CIFAR-10-C, CIFAR-100-C or ImageNet-C. Finished parts are kept.

    Examples:

    - `gotta data make cifar10-c --source cifar-10-binary.tar.gz --out CIFAR-10-C --workers 2`

    - `gotta data make imagenet-c --source photos/ --out ImageNet-C --corruption snow,fog --severity 5`

    Arguments:
        name: What to make: cifar10-c, cifar100-c or imagenet-c.

    Options:
        source: The clean images: an archive of CIFAR, or a folder or zip by class.
        out: The folder to write to.
        corruption: Only these, by comma. Default: the 15 standard ones.
        severity: imagenet-c: only these, by comma. Default: 1 to 5.
        size: imagenet-c: the side of the images to write. Default: 224.
        format: imagenet-c: jpeg (quality 85, as published; default) or png.
        seed: Another seed gives other noise.
        workers: Worker processes.
    """
    from gotta.cli.progress import counted
    from gotta.data import STANDARD, cifar10, cifar100
    from gotta.data.local.make_cifar_c import make_cifar_c
    from gotta.data.local.make_imagenet_c import make_imagenet_c, severities

    readers = {"cifar10-c": cifar10, "cifar100-c": cifar100}
    check_known("data set to make", name, [*readers, "imagenet-c"])
    for option, given in {"severity": severity, "size": size, "format": format}.items():
        if given not in ("", None) and name in readers:
            told = f"--{option} is for imagenet-c; each file of {name} holds all five severities of 32 x 32 pixels"
            raise GottaError(f"{told}. Leave --{option} out; name a severity where the data is used (severity=5).")
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


def show(
    name: str = "cifar10-mini",
    settings: list[str] | None = None,
    out: Path = Path("sheet.png"),
    domain: str = "",
    data_argument: Annotated[list[str] | None, typer.Option("--data-argument", "-a")] = None,
    rows: Annotated[int, typer.Option(min=1, max=200)] = 20,
    columns: Annotated[int, typer.Option(min=1, max=50)] = 16,
) -> None:
    """Draw a data set: a row per class; per domain, if several are named; per clip, if it is video. Or draw a stream.

    Examples:

    - `gotta data show cifar10-mini --domain '*-5' --out corruptions.png`

    - `gotta data show cifar10-mini order=dirichlet gamma=0.1 per_class=25`

    - `gotta data show cifar10-mini-video order=iid clips=20 choose=random domains=gaussian_noise` : a stream of clips

    Arguments:
        name: A data set (gotta ls datasets).
        settings: Stream settings as name=value show the stream instead of the data set.

    Options:
        out: The picture to write.
        domain: Domains by comma or wildcard, as snow-5 or '*-5'; all.
        data_argument: An argument of the data set as name=value; may be repeated.
        rows: At most so many rows, spread over all.
        columns: At most so many pictures in a row.
    """
    from gotta.data import dataset as read_dataset
    from gotta.data.readers.cifar import CLASSES
    from gotta.experiment.spec.text import read_settings
    from gotta.show.contact_sheet import contact_sheet
    from gotta.show.sheet_rows import class_names

    if "=" in name:
        name, settings = "cifar10-mini", [name, *(settings or [])]
    dataset = read_dataset(name, **read_settings(data_argument or []))
    names = class_names(dataset, CLASSES if name.startswith("cifar10") else ())
    if settings:
        facts, made = _stream(dataset, names, settings, rows, columns)
    else:
        facts, made = _data(dataset, names, domain, rows, columns)
    print(facts)
    contact_sheet(out, name, facts, made)
    print(f"Picture: {out}")


def _data(dataset: "Dataset", names: list[str], domain: str, rows: int, columns: int) -> "tuple[str, list[Row]]":
    import numpy as np

    from gotta.show.sheet_rows import chosen_domains, class_rows, clip_rows, domain_rows

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
    from gotta.show.sheet_rows import batch_rows, stream_clip_rows
    from gotta.show.stream_picture import title
    from gotta.streams import Stream, StreamSpec

    stream = Stream(dataset, StreamSpec.of(**read_settings(settings)))
    if hasattr(dataset, "clips"):
        made = stream_clip_rows(stream, names, rows, columns)
        return f"{title(stream.spec)}: {_of(len(stream.clip_starts), rows)} clips as they arrive", made
    shown = f"the first {columns} of up to {stream.batch_size} samples of {_of(len(stream), rows)} batches"
    return f"{title(stream.spec)}: {shown}", batch_rows(stream, names, rows, columns)


def _of(count: int, most: int) -> str:
    return f"all {count}" if count <= most else f"{most} of {count}"
