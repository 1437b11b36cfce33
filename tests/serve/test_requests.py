import asyncio
import base64
import io
import json
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from gotta import GottaError
from gotta.serve.requests import read_body, read_inputs, read_npy
from gotta.serve.settings import Limits

LIMITS = Limits(bytes=1 << 20, samples=4, pixels=1000, read_seconds=0.2)
JSON = "application/json; charset=utf-8"


def as_npy(array, **settings):
    file = io.BytesIO()
    np.save(file, array, **settings)
    return file.getvalue()


def as_image(kind="PNG", size=(4, 6), value=255):
    file = io.BytesIO()
    Image.new("RGB", size, (value, 0, 0)).save(file, kind)
    return file.getvalue()


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 10


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (json.dumps({"inputs": X.tolist()}).encode(), JSON),
        (json.dumps({"npy": base64.b64encode(as_npy(X)).decode()}).encode(), JSON),
        (as_npy(X), "application/x-npy"),
        (as_npy(X.astype(np.float64)), "APPLICATION/X-NPY"),
    ],
)
def test_the_same_samples_however_they_are_sent(body, kind):
    np.testing.assert_allclose(read_inputs(body, kind, LIMITS), X, rtol=1e-6)


def test_bytes_and_images_come_from_0_to_1():
    assert read_inputs(as_npy(np.full((1, 2), 255, np.uint8)), "application/x-npy", LIMITS).tolist() == [[1.0, 1.0]]
    image = read_inputs(as_image(), "image/png", LIMITS)
    assert image.shape == (1, 3, 6, 4)
    assert image.max() == 1.0
    assert image[0, 1:].max() == 0
    assert read_inputs(as_image("JPEG"), "image/jpeg", LIMITS, size=8).shape == (1, 3, 8, 8)


def as_form(*files):
    """As a browser or curl sends files."""
    lines = [b'--edge\r\nContent-Disposition: form-data; name="image"; filename="a"\r\nContent-Type: image/png\r\n\r\n']
    return b"".join(part for file in files for part in (lines[0], file, b"\r\n")) + b"--edge--\r\n"


FORM = "multipart/form-data; boundary=edge"


def as_list(*files):
    return json.dumps({"images": [base64.b64encode(file).decode() for file in files]}).encode()


def noise(seed, size=(7, 5)):
    """An image whose file has all kinds of bytes, line ends among them."""
    file, pixels = io.BytesIO(), np.random.default_rng(seed).integers(0, 256, (*size[::-1], 3), np.uint8)
    Image.fromarray(pixels).save(file, "BMP")
    return file.getvalue(), pixels.transpose(2, 0, 1) / np.float32(255)


def test_several_images_come_in_one_request():
    files, pixels = zip(*(noise(seed) for seed in range(4)), strict=True)
    assert any(b"\r" in file for file in files)
    assert any(b"\n" in file for file in files)
    for body, kind in ((as_list(*files), JSON), (as_form(*files), FORM)):
        np.testing.assert_allclose(read_inputs(body, kind, LIMITS), np.stack(pixels), rtol=1e-6)
    assert read_inputs(as_form(as_image(), as_image("JPEG", (9, 9))), FORM, LIMITS, size=8).shape == (2, 3, 8, 8)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ([as_image()] * 5, "5 samples"),
        ([as_image(size=(20, 20))] * 3, "1,200 pixels"),
        ([as_image(), as_image(size=(5, 5))], "2 sizes"),
        ([], "0 sizes"),
        ([as_image(), b"text"], "image 1"),
    ],
)
def test_images_that_are_too_many_too_large_or_unlike_are_refused(files, expected):
    for body, kind in ((as_list(*files), JSON), (as_form(*files), FORM)):
        with pytest.raises(GottaError, match=expected):
            read_inputs(body, kind, LIMITS)


@pytest.mark.parametrize(
    "kind", ["multipart/form-data", "multipart/form-data; boundary=other", 'multipart/form-data; x="']
)
def test_a_form_without_its_boundary_is_refused(kind):
    with pytest.raises(GottaError, match="sizes"):
        read_inputs(as_form(as_image()), kind, LIMITS)


def bomb(width=60_000, height=60_000):
    """A PNG of few bytes that says it is huge."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0" * 1000)) + chunk(b"IEND", b"")


POISONED = {
    "empty": b"",
    "text": b"not an image",
    "cut": as_image()[:40],
    "cut late": as_image("JPEG", (30, 30))[:-200],
    "bomb": bomb(),
    "just too large": as_image(size=(40, 26)),
    "postscript": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n",
    "svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "bad checksum": as_image()[:-20] + b"\0" * 20,
}


@pytest.mark.parametrize("name", POISONED)
def test_a_poisoned_image_is_one_clear_error(name):
    with pytest.raises(GottaError, match="image"):
        read_inputs(POISONED[name], "image/png", LIMITS)


def evil():
    class Evil:
        def __reduce__(self):
            return print, ("unpickled",)

    return as_npy(np.array([Evil()], object), allow_pickle=True)


HUGE_HEADER = as_npy(X).replace(b"(2, 3, 4)", b"(2, 3, 9)")
assert as_npy(X) != HUGE_HEADER


@pytest.mark.parametrize(
    "data",
    [b"", b"PK\x03\x04", b"\x93NUMPY", as_npy(X)[:-1], as_npy(X) + b"x", HUGE_HEADER, evil(), b"\x93NUMPY\x09\x00"],
    ids=["empty", "zip", "magic", "short", "long", "header", "pickle", "version"],
)
def test_an_array_that_is_not_what_its_header_says_is_refused(data, capsys):
    with pytest.raises(GottaError, match="array"):
        read_npy(data)
    assert "unpickled" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"inputs": [[1]], "npy": ""}',
        b'{"inputs": [[1], [1, 2]]}',
        b'{"inputs": [["x"]]}',
        b'{"inputs": 1}',
        b'{"inputs": []}',
        b'{"inputs": [[NaN]]}',
        b'{"npy": "%%%"}',
        b'{"npy": 1}',
        b'{"inputs": ' + b"[" * 500 + b"]" * 500 + b"}",
    ],
)
def test_json_that_holds_no_samples_is_one_clear_error(body):
    with pytest.raises(GottaError):
        read_inputs(body, JSON, LIMITS)


@pytest.mark.parametrize("kind", ["", "text/plain", "application/x-pickle"])
def test_an_unknown_content_type_is_refused(kind):
    with pytest.raises(GottaError, match="content type"):
        read_inputs(b"", kind, LIMITS)


def test_too_many_samples_are_refused():
    with pytest.raises(GottaError, match="5 samples, at most 4") as refused:
        read_inputs(as_npy(np.zeros((5, 1), np.float32)), "application/x-npy", LIMITS)
    assert refused.value.status == 413


async def parts(*given, wait=0.0):
    for part in given:
        await asyncio.sleep(wait)
        yield part


def read(stream, told=None):
    return asyncio.run(read_body(stream, told, LIMITS))


def test_a_body_is_put_together():
    assert read(parts(b"ab", b"", b"c")) == b"abc" == read(parts(b"abc"), "3")


def test_a_body_that_is_too_large_is_given_up():
    with pytest.raises(GottaError, match="more than 1,048,576 bytes") as refused:
        read(parts(*[b"x" * (1 << 18)] * 5))
    assert refused.value.status == 413


@pytest.mark.parametrize("told", ["1048577", "-5", "x", "\u00b2", "9" * 5000])
def test_a_length_that_is_too_large_or_none_is_refused_before_anything_is_read(told):
    with pytest.raises(GottaError, match="at most 1,048,576 are read") as refused:
        read(None, told)
    assert refused.value.status == 413


def test_a_slow_body_is_given_up():
    with pytest.raises(GottaError, match=r"within 0.2 s") as refused:
        read(parts(*[b"x"] * 100, wait=0.05))
    assert refused.value.status == 408
