"""Small files in the layouts in which CIFAR-10 is published."""

import io
import json
import struct
import tarfile

import numpy as np
from PIL import Image

NAMES = (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch")


def make_batches(rows):
    """For each batch random images [rows, 32, 32, 3] and labels [rows]."""
    rng = np.random.default_rng(0)
    return {
        name: (rng.integers(0, 256, (rows, 32, 32, 3), dtype=np.uint8), rng.integers(0, 10, rows)) for name in NAMES
    }


def planes(images):
    return images.transpose(0, 3, 1, 2).reshape(len(images), -1)


def binary_files(batches):
    files = {"cifar-10-batches-bin/readme.html": b"<html></html>"}
    for name, (images, labels) in batches.items():
        rows = np.concatenate([labels.astype(np.uint8)[:, None], planes(images)], 1)
        files[f"cifar-10-batches-bin/{name}.bin"] = rows.tobytes()
    return files


def sheet_files(batches):
    files = {"package/package.json": b"{}"}
    for name, (images, _) in batches.items():
        buffer = io.BytesIO()
        Image.fromarray(images.reshape(len(images), 1024, 3)).save(buffer, "PNG")
        files[f"package/{name}.png"] = buffer.getvalue()
    train = np.concatenate([batches[name][1] for name in NAMES[:5]])
    files["package/train_lables.json"] = json.dumps(train.tolist()).encode()
    files["package/test_lables.json"] = json.dumps(batches["test_batch"][1].tolist()).encode()
    return files


def python_files(batches):
    files = {"cifar-10-batches-py/batches.meta": b"\x80\x02}."}
    for name, (images, labels) in batches.items():
        files[f"cifar-10-batches-py/{name}"] = python2_pickle(planes(images), labels.tolist())
    return files


def python2_pickle(rows, labels):
    """What Python 2's cPickle wrote at protocol 2: byte strings are plain strings, small numbers have one byte."""

    def text(value):
        return b"U" + struct.pack("<B", len(value)) + value

    def number(value):
        return b"K" + struct.pack("<B", value) if value < 256 else b"M" + struct.pack("<H", value)

    pixels = rows.tobytes()
    dtype = b"cnumpy\ndtype\nq\x0a" + text(b"u1") + number(0) + number(1) + b"\x87Rq\x0b"
    dtype += b"(" + number(3) + text(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff" + number(0) + b"tb"
    array = b"cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08" + number(0) + b"\x85"
    array += text(b"b") + b"\x87Rq\x09(" + number(1) + number(rows.shape[0]) + number(rows.shape[1]) + b"\x86"
    array += dtype + b"\x89T" + struct.pack("<i", len(pixels)) + pixels + b"tb"
    names = b"".join(text(b"image_%d.png" % i) + b"r" + struct.pack("<i", 300 + i) for i in range(len(labels)))
    return (
        b"\x80\x02}q\x01("
        + (text(b"batch_label") + b"q\x02" + text(b"testing batch 1 of 1") + b"q\x03")
        + (text(b"labels") + b"q\x04]q\x05(" + b"".join(number(label) for label in labels) + b"e")
        + (text(b"data") + b"q\x06" + array)
        + (text(b"filenames") + b"q\x0c]q\x0d(" + names + b"eu.")
    )


def write_folder(root, files):
    for name, data in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return root


def write_tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path
