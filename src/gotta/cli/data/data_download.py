"""`gotta data download`: fetch what the catalogue knows an address of. Nothing else in gotta downloads anything."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pathlib import Path

    from gotta.data.local.catalogue import Form


def download(
    name: Annotated[
        str | None, typer.Argument(help="What to fetch. Without it: a list of what there is, and of what you have.")
    ] = None,
    only: Annotated[str, typer.Option(help="Only these parts, by comma, such as noise,blur of imagenet-c.")] = "",
    unpack: Annotated[bool, typer.Option("--unpack", help="Unpack the archives; they are kept.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be fetched.")] = False,
) -> None:
    """Fetch official files into the data folder, verified by size and checksum. Repeat the command to go on.

    Examples:

    - `gotta data download cifar10-c --data-dir ~/data --unpack`

    - `gotta data download imagenet-c --only noise --dry-run`
    """
    from gotta.data.home import named_home
    from gotta.data.local.catalogue import chosen, entry
    from gotta.files import check_writable

    if name is None:
        return _list()
    found = entry(name)
    forms = chosen(found, only)
    folder = named_home()  # made if it is not there yet
    _announce(found.title, forms, folder)
    if dry_run:
        return
    check_writable(folder / forms[0].name)
    for form in forms:
        _fetch(form, folder)
        if unpack:
            _unpack(form, folder)
    if not unpack and any(form.packed for form in forms):
        print(f"To unpack: gotta data download {name}{f' --only {only}' if only else ''} --unpack")


def _list() -> None:
    from gotta.data.local.catalogue import catalogue
    from gotta.safe_text import tell_bytes

    for entry in catalogue().values():
        parts = ", ".join(f"{form.part} {tell_bytes(form.size)}" for form in entry.downloads)
        there = "there" if entry.is_there else "-"
        print(f"{entry.name:<20} {there:<6} {entry.title}: {parts or entry.hint or 'no address'}")


def _announce(title: str, forms: "list[Form]", folder: "Path") -> None:
    from gotta.data.local.remote import host
    from gotta.safe_text import tell_bytes

    total = sum(form.size or 0 for form in forms)
    print(f"{title}: {len(forms)} file{'s' if len(forms) > 1 else ''}, {tell_bytes(total)}, into {folder}")
    for form in forms:
        checked = "sha256" if form.sha256 else "md5" if form.md5 else "no checksum published"
        there = "  (there already)" if (folder / form.name).exists() else ""
        print(f"  {form.name}  {tell_bytes(form.size)}  from {host(form.address)}  ({checked}){there}")


def _fetch(form: "Form", folder: "Path") -> None:
    from gotta.cli.progress import counted
    from gotta.data.local.download import fetch
    from gotta.data.local.remote import Remote

    remote = Remote(form.address, form.name, form.size, form.md5, form.sha256)
    there = (folder / form.name).exists()
    try:
        with counted(f"bytes of {form.name}") as progress:
            path = fetch(remote, folder, progress)
    except KeyboardInterrupt:
        print(f"\nStopped. What arrived of {form.name} is kept; run the command again to go on.")
        raise typer.Exit(130) from None
    print(f"{'There already' if there else 'Fetched and verified'}: {path}")


def _unpack(form: "Form", folder: "Path") -> None:
    from gotta.data.local.unpack import unpack

    if form.packed or form.name.endswith(".zip"):
        print(f"Unpacking {form.name} ...")
        brought = unpack(folder / form.name, folder / form.into)
        print("\n".join(f"Unpacked: {path}" for path in brought) or f"All of {form.name} is unpacked already.")
