"""What a folder holds of the catalogue, and what state it is in; found from names, sizes, headers and a few hashes."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gotta.data.local.catalogue import Entry, Form, catalogue
from gotta.data.local.damage import Seen, damage, digest
from gotta.data.local.layouts import Look, look_at_cifar_c, look_at_classes, look_at_imagenet_c
from gotta.errors import GottaError
from gotta.types import CORRUPTIONS

QUICK = 50_000_000  # files up to so many bytes are hashed without being asked to
STATES = ("complete", "packed", "partial", "damaged", "absent")
PART = ".part"


@dataclass(frozen=True)
class Finding:
    """One form of one data set as it was found, or that none was."""

    name: str
    title: str
    used_by: str
    state: str
    path: Path | None = None
    size: int | None = None
    notes: tuple[str, ...] = ()


def check(folder: Path, full: bool = False, seen: Seen = lambda count: None) -> list[Finding]:
    """Every form of every entry that is in the folder; one absent finding for an entry of which nothing is there."""
    if not folder.is_dir():
        raise GottaError(
            f"'{folder}' is {'no folder' if folder.exists() else 'not there'}. Name the folder of your data."
        )
    if not os.access(folder, os.R_OK | os.X_OK):
        raise GottaError(f"the folder '{folder}' cannot be read. Check its permissions.")
    return [finding for entry in catalogue().values() for finding in _findings(entry, folder, full, seen)]


def strangers(folder: Path, findings: list[Finding]) -> list[Path]:
    """What else lies in the folder: known to nobody here, and nothing wrong with that."""
    known = {finding.path for finding in findings if finding.path}
    if folder in known:
        return []
    tops = {folder / path.relative_to(folder).parts[0] for path in known if path.is_relative_to(folder)}
    return sorted(path for path in folder.iterdir() if path not in tops and not path.name.startswith("."))


def _findings(entry: Entry, folder: Path, full: bool, seen: Seen) -> list[Finding]:
    found = []
    for form in entry.forms:
        for path in _places(form, folder):
            look = _look(form, path, full, seen)
            found.append(
                Finding(entry.name, entry.title, entry.used_by, look.state, path, look.size, tuple(look.notes))
            )
        if (part := folder / (form.name + PART)).is_file():
            size, of = part.stat().st_size, f" of {form.size:,}" if form.size else ""
            note = f"download unfinished: {size:,}{of} bytes; gotta data download {entry.name} continues it"
            found.append(Finding(entry.name, entry.title, entry.used_by, "partial", part, size, (note,)))
    hints = (f"for {entry.used_by}", *([f"gotta data download {entry.name}"] if entry.downloads else []), entry.hint)
    return found or [Finding(entry.name, entry.title, entry.used_by, "absent", notes=tuple(filter(None, hints)))]


def _places(form: Form, folder: Path) -> list[Path]:
    """Where this form is: under one of its names, or the folder itself, if one pointed right at it."""
    # By identity, because on a file system that ignores case two of the names are one folder.
    found = {_identity(path): path for path in (folder / name for name in form.names) if os.path.lexists(path)}
    return list(found.values()) or ([folder] if _is_itself(form, folder) else [])


def _identity(path: Path) -> object:
    return (path.stat().st_dev, path.stat().st_ino) if path.exists() else path


def _is_itself(form: Form, folder: Path) -> bool:
    if form.kind == "cifar-c":
        return any((folder / f"{name}.npy").is_file() for name in CORRUPTIONS) and _same_classes(form, folder)
    if form.kind == "imagenet-c":
        tops = [folder, *(folder / group for group in form.groups)]
        return any((top / name / str(level)).is_dir() for top in tops for name in CORRUPTIONS for level in range(1, 6))
    if form.kind == "files":
        return all((folder / name).is_file() for name in list(form.files)[-1:])
    return form.kind == "classes" and any(_ends_with(folder, name) for name in form.names)


def _same_classes(form: Form, folder: Path) -> bool:
    """Ten classes or a hundred: the name says it, for the files have the same names."""
    return ("100" in folder.name) == (form.num_classes == 100)


def _ends_with(folder: Path, name: str) -> bool:
    parts = Path(name).parts
    return len(parts) > 1 and folder.absolute().parts[-len(parts) :] == parts


def _look(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    if form.kind != "file" and not path.is_dir():
        return Look("damaged", ["is not a folder"])
    try:
        return LOOKS[form.kind](form, path, full, seen)
    except OSError as error:
        return Look("damaged", [f"cannot be read: {error.strerror}"])


def look_at_file(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    """One archive or checkpoint."""
    wrong = damage(path, form.size)
    size = path.stat().st_size if path.exists() else None
    if wrong:
        return Look("damaged", [wrong], size)
    state = "packed" if form.packed else "complete"
    algorithm, wanted = ("sha256", form.sha256) if form.sha256 else ("md5", form.md5)
    if not wanted:
        return Look(state, ["size as listed" if form.size else "no size or checksum is known to compare with"], size)
    if not full and path.stat().st_size > QUICK:
        return Look(state, ["size as listed"], size)
    if digest(path, algorithm, seen) != wanted:
        return Look("damaged", [f"another {algorithm} than listed"], size)
    return Look(state, [f"{algorithm} as listed"], size)


def look_at_files(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    """A folder with a short list of files."""
    there = [path / name for name in form.files if (path / name).exists()]
    missing = [name for name in form.files if path / name not in there]
    wrong = []
    for file in there:
        found, wanted = damage(file, form.size), form.files[file.name]
        if not found and wanted and (full or file.stat().st_size <= QUICK) and digest(file, "md5", seen) != wanted:
            found = "another md5 than listed"
        wrong += [f"{file.name} {found}"] if found else []
    notes = wrong + ([f"missing: {', '.join(missing)}"] if missing else [])
    state = "damaged" if wrong else "partial" if missing else "complete"
    return Look(state, notes, sum(file.stat().st_size for file in there))


LOOKS: dict[str, Callable[[Form, Path, bool, Seen], Look]] = {
    "file": look_at_file,
    "files": look_at_files,
    "cifar-c": look_at_cifar_c,
    "imagenet-c": look_at_imagenet_c,
    "classes": look_at_classes,
}
