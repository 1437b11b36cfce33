"""The batches of cifar-10-python.tar.gz without unpickling: their opcodes are read as data, and nothing is ever called.

Only what such a batch is made of is understood: a dict of strings, lists of numbers and one array of bytes.
"""

import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np

from gotta.errors import GottaError
from gotta.types import IntArray

ROW = 3 * 32 * 32
MOST = 2_000_000  # opcodes; the 50,000 images of CIFAR-100 take 300,000
RECONSTRUCT = ("numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct")
KNOWN_GLOBALS = (*RECONSTRUCT, "numpy ndarray", "numpy dtype", "_codecs encode")
VALUES = {"BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES", "BINUNICODE", "BININT", "BININT1", "BININT2"}
CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
# How many values an opcode puts together; without a number all since the last mark.
TAKEN = {"APPEND": 1, "SETITEM": 2, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass
class Built:
    """An array or its type: what it would be made of, as plain data. The maker is a name and stays one."""

    maker: str
    arguments: tuple[Any, ...]
    state: Any = None


def read_batch(data: bytes, name: str, labels: str = "labels") -> tuple[np.ndarray, IntArray]:
    """The rows [N, 3072] and labels [N] of one batch file; CIFAR-100 has `fine_labels` and `coarse_labels`."""
    try:
        batch = {_text(key): value for key, value in _interpret(data).items()}
        return _rows(batch["data"]), _labels(batch[labels])
    except (ValueError, LookupError, TypeError, AttributeError, MemoryError, OverflowError) as error:
        told = f"{name} is not a batch of CIFAR-10 or CIFAR-100 as its authors pickled it ({error})"
        raise GottaError(f"{told}. It was not executed. Download its archive again.") from None


def _interpret(data: bytes) -> Any:
    """What the opcodes describe; an opcode or a name that no batch needs is an error."""
    stack: list[Any] = []
    marks: list[int] = []  # how high the stack was at each mark, so that nobody searches for the last one
    memo: dict[int, Any] = {}
    argument: Any
    for count, (opcode, argument, _) in enumerate(pickletools.genops(data)):
        if count > MOST:
            raise ValueError(f"it has more than {MOST:,} opcodes")
        match opcode.name:
            case "PROTO":
                pass
            case "STOP":
                return stack.pop()
            case "BINPUT" | "LONG_BINPUT":
                memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(memo[argument])
            case "MARK":
                marks.append(len(stack))
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "TUPLE" | "TUPLE1" | "TUPLE2" | "TUPLE3":
                stack.append(tuple(_take(stack, marks, opcode.name)))
            case "APPENDS" | "APPEND":
                items = _take(stack, marks, opcode.name)
                stack[-1].extend(items)
            case "SETITEMS" | "SETITEM":
                items = _take(stack, marks, opcode.name)
                stack[-1].update(zip(map(_text, items[::2]), items[1::2], strict=True))
            case "GLOBAL" if argument in KNOWN_GLOBALS:
                stack.append(argument)
            case "GLOBAL":
                raise ValueError(f"unexpected name {argument.replace(' ', '.')}")
            case "REDUCE":
                arguments, maker = stack.pop(), stack.pop()
                stack.append(_describe(maker, arguments))
            case "BUILD":
                state = stack.pop()
                stack[-1].state = state
            case name if name in VALUES:
                stack.append(argument)
            case name if name in CONSTANTS:
                stack.append(CONSTANTS[name])
            case name:
                raise ValueError(f"unexpected opcode {name}")
    raise ValueError("no end")


def _take(stack: list[Any], marks: list[int], opcode: str) -> list[Any]:
    """The values on the stack that an opcode puts together."""
    start = len(stack) - TAKEN[opcode] if opcode in TAKEN else marks.pop()
    if not 0 <= start <= len(stack):
        raise ValueError("values are missing")
    items = stack[start:]
    del stack[start:]
    return items


def _describe(maker: str, arguments: tuple[Any, ...]) -> Any:
    """What a call in the file stands for. Python 3 writes bytes as text to encode, so that one is worked out here."""
    if maker == "_codecs encode":
        text, encoding = arguments
        if encoding != "latin1":
            raise ValueError(f"unexpected encoding {encoding}")
        return text.encode("latin-1")
    return Built(maker, arguments)


def _rows(array: Built) -> np.ndarray:
    _, shape, dtype, columns_first, pixels = array.state
    if array.maker not in RECONSTRUCT or dtype.maker != "numpy dtype" or _text(dtype.arguments[0]) not in ("u1", "|u1"):
        raise ValueError("its data are not an array of bytes")
    if len(shape) != 2 or type(shape[0]) is not int or shape[1] != ROW:
        raise ValueError(f"its data have another shape than [N, {ROW}]")
    raw = pixels.encode("latin-1") if isinstance(pixels, str) else pixels
    return np.frombuffer(raw, np.uint8).reshape(shape, order="F" if columns_first else "C")


def _labels(labels: Any) -> IntArray:
    """Looked at one by one: a list that holds itself would keep NumPy busy for ever."""
    if not isinstance(labels, list) or not all(type(label) is int for label in labels):
        raise ValueError("its labels are not a list of numbers")
    return np.array(labels, np.int64)


def _text(value: Any) -> str:
    if not isinstance(value, str | bytes):
        raise ValueError(f"a {type(value).__name__} where a text belongs")
    return value.decode("latin-1") if isinstance(value, bytes) else value
