"""What a request brings, read within limits: JSON, an array as .npy, or images. Nothing is unpickled."""

import asyncio
import base64
import io
from collections.abc import AsyncIterator, Sequence
from email.parser import BytesParser
from email.policy import HTTP
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy
from PIL import Image

from gotta.data.readers.pictures import FORMATS, decode
from gotta.errors import GottaError, one_error
from gotta.json_yaml import parse_json
from gotta.serve.settings import Limits

Inputs = npt.NDArray[np.float32]  # [B, ...]
Answer = dict[str, Any]  # what is sent back; with "error" and "status" where something went wrong


class Refused(GottaError):
    """Why a request is not answered, with its status in HTTP; other errors are a mistake in the request, 400."""

    def __init__(self, why: str, status: int = 400) -> None:  # the default is for pickle, which sets it again
        super().__init__(why)
        self.status = status


def tell(error: GottaError) -> Answer:
    """An error as an answer."""
    return {"error": str(error)[:500], "status": error.status if isinstance(error, Refused) else 400}


async def read_body(parts: AsyncIterator[bytes], told: str | None, limits: Limits) -> bytes:
    """The body of a request, given up as soon as it is too large or arrives too slowly. `told`: its length, it says."""
    if told is not None and (not told.isdecimal() or int(told[:20]) > limits.bytes):
        raise Refused(f"the request has {told[:20]} bytes, at most {limits.bytes:,} are read. Send fewer samples.", 413)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.read_seconds):
            async for part in parts:
                body += part
                if len(body) > limits.bytes:
                    raise Refused(f"the request has more than {limits.bytes:,} bytes. Send fewer samples.", 413)
    except TimeoutError:
        why = f"the request did not arrive within {limits.read_seconds:g} s. Send fewer samples."
        raise Refused(why, 408) from None
    return bytes(body)


def read_inputs(body: bytes, kind: str, limits: Limits, size: int | None = None) -> Inputs:
    """The samples of a request. `kind` is its content type; images are fitted to `size` pixels a side, if given."""
    whole, kind = kind, kind.partition(";")[0].strip().lower()
    if kind.startswith("image/"):
        found: npt.NDArray[Any] | list[bytes] = [body]
    elif kind == "multipart/form-data":
        found = split_form(body, whole)
    elif kind == "application/x-npy":
        found = read_npy(body)
    elif kind == "application/json":
        found = read_json(body)
    else:
        expected = "Expected application/json, application/x-npy, image/*, multipart/form-data."
        raise GottaError(f"content type {kind[:80]!r} is unknown. {expected}")
    count = len(found) if isinstance(found, list) or found.ndim else 1
    if count > limits.samples:
        raise Refused(f"the request has {count:,} samples, at most {limits.samples:,} are taken. Send fewer.", 413)
    return read_images(found, limits, size) if isinstance(found, list) else as_inputs(found)


def split_form(body: bytes, kind: str) -> list[bytes]:
    """The files of a form, as `curl -F image=@one.jpg -F image=@two.jpg` sends them, whatever their names."""
    header = f"Content-Type: {kind}\r\n\r\n".encode("latin-1", "replace")
    form = BytesParser(policy=HTTP).parsebytes(header + body)
    parts = [part.get_payload(decode=True) for part in form.iter_parts()] if form.is_multipart() else []
    return [part for part in parts if isinstance(part, bytes)]


def read_npy(data: bytes) -> npt.NDArray[Any]:
    """An array in .npy format that is exactly as long as its header says, of numbers and not of Python objects."""
    stream = io.BytesIO(data)
    with one_error("the array is not in .npy format"):
        version = npy.read_magic(stream)
        read_header = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, _, kind = read_header(stream)
    expected = stream.tell() + prod(shape) * kind.itemsize
    if kind.hasobject or expected != len(data):
        told = f"the array of {kind} has {len(data):,} bytes, its header says {expected:,}."
        raise GottaError(f"{told} Expected numbers as np.save writes them.")
    return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))


def read_images(found: Sequence[bytes], limits: Limits, size: int | None) -> Inputs:
    """Images as [B, 3, H, W] from 0 to 1. Their sizes are looked at before any pixel is decoded."""
    sides = [size_of(data, at) for at, data in enumerate(found)]
    pixels = sum(width * height for width, height in sides)
    if pixels > limits.pixels:
        raise Refused(f"the images have {pixels:,} pixels, at most {limits.pixels:,} are decoded.", 413)
    if not sides or (size is None and len(set(sides)) > 1):
        expected = "Expected one or more of one size, or a service that was started with --size."
        raise GottaError(f"the request has images of {len(set(sides))} sizes. {expected}")
    images = [decode(io.BytesIO(data), f"image {at}") for at, data in enumerate(found)]
    if size is not None:
        images = [image.resize((size, size), Image.Resampling.BILINEAR) for image in images]
    return as_inputs(np.stack([np.asarray(image).transpose(2, 0, 1) for image in images]))


def size_of(data: bytes, at: int) -> tuple[int, int]:
    what = f"image {at} of the request is not readable"
    with one_error(what), Image.open(io.BytesIO(data), formats=FORMATS) as opened:
        return opened.size


def as_inputs(array: npt.NDArray[Any]) -> Inputs:
    """Numbers as float32, of bytes from 0 to 1; a batch of at least one sample."""
    if array.dtype == np.uint8:
        array = array.astype(np.float32) / 255
    if array.dtype.kind not in "fiu" or array.ndim < 2 or not len(array):
        raise GottaError(f"the inputs are {array.dtype}{list(array.shape)}. Expected numbers [B, ...], B from 1.")
    return np.ascontiguousarray(array, np.float32)


def read_json(body: bytes) -> npt.NDArray[Any] | list[bytes]:
    """An array, or the files of images."""
    with one_error("the request is not readable"):
        said = parse_json(body)
        if not isinstance(said, dict) or len(said.keys() & {"inputs", "npy", "images"}) != 1:
            raise ValueError("expected an object with inputs (nested lists), npy (base64) or images (a list of base64)")
        if "npy" in said:
            return read_npy(base64.b64decode(said["npy"], validate=True))
        if "images" in said:
            return [base64.b64decode(image, validate=True) for image in said["images"]]
        return np.asarray(said["inputs"], np.float32)
