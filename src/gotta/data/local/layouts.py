"""Looking at the three layouts that have a structure of their own: CIFAR-C, ImageNet-C, and image folders by class."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gotta.data.corruptions import EXTRA
from gotta.data.local.catalogue import Form
from gotta.data.local.damage import Seen, damage, digest, npy_header
from gotta.safe_text import tell_few
from gotta.types import CORRUPTIONS

LEVELS = (1, 2, 3, 4, 5)
MOST = 4  # names in a note
OFFICIAL_ROWS = 50_000
LABELS = "labels.npy"
IMAGES = {".jpeg", ".jpg", ".png", ".bmp", ".ppm", ".webp"}
MADE = "made.json"  # what `gotta data make` leaves beside its files


@dataclass
class Look:
    """What was seen of one form."""

    state: str
    notes: list[str] = field(default_factory=list)
    size: int | None = None


def look_at_cifar_c(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    """`<corruption>.npy` and labels.npy: headers against file sizes, the rows against the labels, nothing loaded."""
    there = [name for name in form.files if (path / name).exists()]
    wrong = {name: found for name in there if (found := damage(path / name))}
    rows = _rows(path / LABELS, (), form.num_classes) if LABELS in there and LABELS not in wrong else None
    if isinstance(rows, str):
        wrong[LABELS], rows = rows, None
    for name in there:
        if name != LABELS and name not in wrong:
            count = _rows(path / name, (32, 32, 3))
            if isinstance(count, str):
                wrong[name] = count
            elif rows is not None and count != rows:
                wrong[name] = f"has {count:,} images, but there are {rows:,} labels"
    notes = [f"{name} {what}" for name, what in wrong.items()]
    sound = [name for name in there if name not in wrong]
    if (path / MADE).is_file():
        notes.append("made by gotta, not the official files")
    else:
        others, note = _other_hashes(form, path, sound if full else [n for n in sound if n == LABELS], seen)
        wrong |= dict.fromkeys(others, "")
        notes += note
    missing = [name for name in CORRUPTIONS if f"{name}.npy" not in there]
    if missing:
        notes.append(f"{len(CORRUPTIONS) - len(missing)} of 15 corruptions; missing: {tell_few(missing, MOST)}")
    if LABELS not in there:
        notes.append(f"missing: {LABELS}")
    if rows is not None and rows != OFFICIAL_ROWS:
        notes.append(f"{rows // 5:,} images per severity instead of 10,000")
    small = missing or LABELS not in there or rows != OFFICIAL_ROWS
    state = "damaged" if wrong else "partial" if small else "complete"
    return Look(state, notes, sum((path / name).stat().st_size for name in there))


def _rows(path: Path, rest: tuple[int, ...], num_classes: int = 0) -> int | str:
    """How many rows a file has, if its shape and content fit; else what does not."""
    header = npy_header(path)
    if isinstance(header, str):
        return header
    if header.shape[1:] != rest or not header.shape or (rest and header.dtype != np.uint8):
        return f"has {header.dtype} of shape {header.shape}, expected {'uint8 of ' if rest else ''}[5 x N{_by(rest)}]"
    if header.shape[0] % len(LEVELS) or not header.shape[0]:
        return f"has {header.shape[0]:,} rows, which five severities do not divide"
    if num_classes and header.dtype.kind in "ui":
        top = int(np.load(path, allow_pickle=False).max())
        if top >= num_classes:
            return f"goes up to {top}, but there are {num_classes} classes"
    return header.shape[0]


def _by(rest: tuple[int, ...]) -> str:
    return "".join(f" x {side}" for side in rest)


def _other_hashes(form: Form, path: Path, names: list[str], seen: Seen) -> tuple[list[str], list[str]]:
    """The files that alone are not the official ones, and what to say. If none is official, all were made elsewhere."""
    other = [name for name in names if digest(path / name, "md5", seen) != form.files[name]]
    if not names:
        return [], []
    if not other:
        return [], [f"md5 of {len(names)} file{'s' if len(names) > 1 else ''} as listed"]
    if len(other) == len(names):
        return [], [f"not the official files ({tell_few(names, MOST)}: another md5)"]
    return other, [f"another md5 than listed: {tell_few(other, MOST)}"]


def look_at_imagenet_c(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    """`<corruption>/<severity>/<class>/*.JPEG`; images are counted at the highest severity, or everywhere."""
    places = {name: _corruption(form, path, name) for name in (*CORRUPTIONS, *EXTRA)}
    missing = [name for name in CORRUPTIONS if places[name] is None]
    gaps, thin, wrong, sizes = [], {}, [], set()
    for name, place in places.items():
        if place is None:
            continue
        levels = [level for level in LEVELS if (place / str(level)).is_dir()]
        gaps += [f"{name}-{level}" for level in LEVELS if level not in levels]
        for level in levels:
            folders = _folders(place / str(level))
            sizes.add(len(folders))
            counts = [_count_images(folder) for folder in folders] if full or level == max(levels) else []
            if counts and sum(counts) < form.per_class * len(folders):
                thin[f"{name}-{level}"] = sum(counts)
            first = next(_images(folders[0]), None) if folders else None
            if first and (found := damage(first)):
                wrong.append(f"{first.relative_to(path)} {found}")
    notes = list(wrong)
    notes += [f"{15 - len(missing)} of 15 corruptions; missing: {tell_few(missing, MOST)}"] if missing else []
    notes += [f"missing severities: {tell_few(gaps, MOST)}"] if gaps else []
    if sizes and sizes != {form.num_classes}:
        notes.append(f"{_span(sizes)} of {form.num_classes:,} classes")
    if thin:
        shown = tell_few([f"{where} has {count:,}" for where, count in thin.items()], MOST)
        notes.append(f"fewer than {form.per_class} images per class: {shown}")
    state = "damaged" if wrong else "partial" if notes else "complete"
    notes += [] if full or not sizes else ["images counted at the highest severity only"]
    return Look(state, notes)


def look_at_classes(form: Form, path: Path, full: bool, seen: Seen) -> Look:
    """`<class>/<image>`, or `<class>/images/<image>` as Tiny-ImageNet has it."""
    folders = _folders(path)
    counts = [_count_images(folder) for folder in folders]
    first = next((image for folder in folders for image in _images(folder)), None)
    wrong = damage(first) if first else ""
    notes = [f"{first.relative_to(path)} {wrong}"] if first and wrong else []
    notes.append(f"{sum(counts):,} images in {len(folders):,} folder{'s' if len(folders) != 1 else ''}")
    whole = form.num_classes * form.per_class
    if len(folders) < form.num_classes or sum(counts) < whole:
        notes[-1] += f" instead of {whole:,} in {form.num_classes:,}"
        return Look("damaged" if wrong else "partial", notes)
    return Look("damaged" if wrong else "complete", notes)


def _span(sizes: set[int]) -> str:
    return f"{min(sizes):,}" if len(sizes) == 1 else f"{min(sizes):,} to {max(sizes):,}"


def _corruption(form: Form, path: Path, name: str) -> Path | None:
    places = [path / name, *(path / group / name for group in form.groups)]
    return next((place for place in places if place.is_dir()), None)


def _folders(path: Path) -> list[Path]:
    with os.scandir(path) as entries:
        return sorted(Path(entry) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _count_images(folder: Path) -> int:
    return sum(1 for _ in _images(folder))


def _images(folder: Path) -> Iterator[Path]:
    inner = folder / "images"
    with os.scandir(inner if inner.is_dir() else folder) as entries:
        for entry in entries:
            if os.path.splitext(entry.name)[1].lower() in IMAGES:
                yield Path(entry)
