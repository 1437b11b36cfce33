"""Image files by class, in a folder or a zip archive: listed at once, decoded when asked for."""

import hashlib
import io
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from gotta.data.archives import LARGEST, read_zip_member, reading_error
from gotta.errors import GottaError
from gotta.json_yaml import read_bytes
from gotta.limits import Count, check_fields
from gotta.types import Images, IntArray

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".ppm", ".webp"}
FORMATS = ("PNG", "JPEG", "BMP", "PPM", "WEBP")  # whatever the name: others start programs to be shown, as EPS does


@dataclass(frozen=True)
class Fit:
    """Bring the shorter side to `resize` (left open: to `size`), then keep the central square of side `size`.

    An image that is this square already stays as it is.
    """

    size: Count
    resize: Count | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.resize is not None and self.resize < self.size:
            raise GottaError(f"resize={self.resize} leaves no square of side {self.size}. Expected resize >= size.")

    def __call__(self, image: Image.Image) -> Image.Image:
        if image.size == (self.size, self.size):
            return image
        shorter = self.resize or self.size
        scale = shorter / min(image.size)
        width, height = (max(shorter, round(side * scale)) for side in image.size)
        left, top = (width - self.size) // 2, (height - self.size) // 2
        resized = image.resize((width, height), Image.Resampling.BILINEAR)
        return resized.crop((left, top, left + self.size, top + self.size))


class Pictures:
    """Files called `<class>/<file>`; classes and files are sorted. Cheap to send to another process."""

    def __init__(self, root: Path, names: Sequence[str], members: Sequence[str], classes: Sequence[str]) -> None:
        """`names` are `<class>/<file>`, and `members` where these are inside of the root."""
        self.root, self.names, self.members, self.classes = root, tuple(names), tuple(members), tuple(classes)
        position = {name: label for label, name in enumerate(self.classes)}
        self.labels: IntArray = np.array([position[name.partition("/")[0]] for name in self.names], np.int64)
        self._archive: zipfile.ZipFile | None = None

    @classmethod
    def of(cls, root: Path) -> "Pictures":
        """Every image of a folder or zip archive that holds `<class>/<image>`."""
        files = _in_archive(root) if root.is_file() else _in_folder(root)
        if not any(files.values()):
            kinds = ", ".join(sorted(SUFFIXES))
            raise GottaError(f"no images at {root}. Expected {root}/<class>/<image> with one of {kinds}.")
        empty = [str(root / name) for name, found in files.items() if not found]
        if empty:
            raise GottaError(f"no images in {', '.join(empty)}. Fill or remove these classes.")
        members = [member for found in files.values() for member in found]
        names = ["/".join(PurePosixPath(member).parts[-2:]) for member in members]
        return cls(root, names, members, list(files))

    def __len__(self) -> int:
        return len(self.names)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_archive": None}

    def only(self, rows: Sequence[int]) -> "Pictures":
        """These rows, in this sequence; the classes stay."""
        chosen = [self.names[row] for row in rows], [self.members[row] for row in rows]
        return Pictures(self.root, *chosen, self.classes)

    def files(self) -> Path | tuple[Path, ...]:
        """The archive, or the files."""
        return self.root if self.root.is_file() else tuple(self.root / member for member in self.members)

    def image(self, row: int) -> Image.Image:
        """One image, upright, in RGB."""
        return decode(io.BytesIO(self.data(row)), self.root / self.members[row])

    def read(self, rows: IntArray, fit: Fit) -> Images:
        """Images [N, size, size, 3]."""
        images = np.empty((len(rows), fit.size, fit.size, 3), np.uint8)
        for at, row in enumerate(rows):
            images[at] = np.asarray(fit(self.image(row)))
        return images

    def data(self, row: int) -> bytes:
        """The bytes of one file."""
        member = self.members[row]
        with reading_error(f"{self.root / member} cannot be read", "Fetch it again."):
            if not self.root.is_file():
                return read_bytes(self.root / member, LARGEST, links=True)
            if self._archive is None:
                self._archive = zipfile.ZipFile(self.root)
            return read_zip_member(self._archive, member)


def noise_index(names: Sequence[str]) -> IntArray:
    """A number for each image by its class and file name alone: the same in a subset, a zip and a folder."""
    digests = [hashlib.sha256(str(PurePosixPath(name).with_suffix("")).encode()).digest()[:8] for name in names]
    return np.array([int.from_bytes(digest, "little") >> 1 for digest in digests], np.int64)


def decode(file: Any, name: str | Path) -> Image.Image:
    """An image file, upright, in RGB."""
    try:
        with Image.open(file, formats=FORMATS) as image:
            return ImageOps.exif_transpose(image).convert("RGB")
    # Pillow says "broken PNG" with a SyntaxError.
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        reason = "it is none of the known kinds" if isinstance(file, io.BytesIO) and "BytesIO" in str(error) else error
        raise GottaError(f"{name} is not a readable image: {reason}. Remove or replace it.") from None


def is_image(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def subfolders(root: Path) -> list[Path]:
    """The folders in a folder, sorted, without hidden ones; nothing else is asked of the disk about a thousand."""
    if not root.is_dir():
        return []
    with os.scandir(root) as entries:
        return sorted(root / entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def _in_folder(root: Path) -> dict[str, list[str]]:
    """The image files by class, both sorted."""
    return {
        folder.name: sorted(f"{folder.name}/{path.name}" for path in folder.iterdir() if is_image(path.name))
        for folder in subfolders(root)
    }


def _in_archive(path: Path) -> dict[str, list[str]]:
    """The same in a zip archive, in which the class folders may lie inside of others."""
    found: dict[str, list[str]] = {}
    for member in archive_names(path):
        parts = PurePosixPath(member).parts
        hidden = any(part.startswith((".", "__MACOSX")) for part in parts)
        if len(parts) >= 2 and is_image(member) and not hidden:
            found.setdefault(parts[-2], []).append(member)
    return {name: sorted(found[name]) for name in sorted(found)}


def archive_names(path: Path) -> list[str]:
    expected = f"Expected {path}/<class>/<image>, in a folder or a zip."
    with (
        reading_error(f"no images at {path}: it is not a readable zip archive", expected),
        zipfile.ZipFile(path) as archive,
    ):
        return archive.namelist()


def image_folder(root: str | Path, size: int) -> tuple[Images, IntArray, list[str]]:
    """Images [N, size, size, 3], labels [N] and class names; the shorter side is fitted, the centre kept.

    `root` has a folder of images for each class; `size` is the side of the images that are made of them.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from gotta.data import image_folder
    >>> with tempfile.TemporaryDirectory() as root:
    ...     (Path(root) / "cat").mkdir()
    ...     Image.new("RGB", (40, 30)).save(Path(root) / "cat" / "a.png")
    ...     images, labels, names = image_folder(root, size=24)
    >>> images.shape, names
    ((1, 24, 24, 3), ['cat'])
    """
    fit = Fit(size)
    pictures = Pictures.of(Path(root))
    return pictures.read(np.arange(len(pictures)), fit), pictures.labels, list(pictures.classes)
