"""The validation images of Tiny-ImageNet, in the layouts that people have."""

from pathlib import Path, PurePosixPath

from gotta.data.readers.pictures import Pictures, archive_names
from gotta.errors import GottaError

TINY = "tiny-imagenet-200"
ANNOTATIONS = "val/val_annotations.txt"


def tiny_pictures(root: Path) -> Pictures:
    """The validation images: `<wnid>/<image>`, or as published, in one folder with a list of their classes."""
    published = _annotations(root)
    if published is None:
        return Pictures.of(root)
    inside, text = published
    rows = [line.split("\t")[:2] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 2 for row in rows):
        raise GottaError(f"'{root}': {ANNOTATIONS} is not a list of images and their classes. Unpack it again.")
    listed = sorted((wnid, file) for file, wnid in rows)
    names = [f"{wnid}/{file}" for wnid, file in listed]
    members = [str(PurePosixPath(inside) / "val" / "images" / file) for _, file in listed]
    return Pictures(root, names, members, sorted({wnid for wnid, _ in listed}))


def _annotations(root: Path) -> tuple[str, str] | None:
    """Where inside of the root the published layout begins, and its list; None if it has another layout."""
    if root.is_dir():
        found = [name for name in (ANNOTATIONS, f"{TINY}/{ANNOTATIONS}") if (root / name).is_file()]
    else:
        found = [name for name in archive_names(root) if name.endswith(ANNOTATIONS)]
    return (found[0].removesuffix(ANNOTATIONS), Pictures(root, [], found, []).data(0).decode()) if found else None
