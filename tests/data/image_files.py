"""Small image files by class, as the tests of image data sets need them."""

import io
import zipfile

import numpy as np
from PIL import Image


def noise(seed, size):
    """An image that compresses without surprises: smooth colours."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC))


def encoded(pixels, kind="JPEG"):
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, kind)
    return buffer.getvalue()


def by_class(classes, per_class, size, kind="JPEG"):
    """`<class>/<name>` to the bytes of an image."""
    names = [f"{name}/val_{k}.{kind}" for name in classes for k in range(per_class)]
    return {name: encoded(noise(seed, size), kind) for seed, name in enumerate(names)}


def write(root, files):
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(data)
    return root


def write_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return path


def decoded(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))
