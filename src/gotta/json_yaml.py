"""Reading what anybody may have written: one door for JSON and YAML, so that no file can stop or blow up a program.

A file is a plain one and not too large; its values are plain, not nested too deeply, and its numbers are ones that a
program can hold. What is not raises OSError or ValueError, in bounded time; the caller says whose file it was.
"""

import errno
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
import yaml

LARGEST = 64 << 20  # bytes of a file of values
LONGEST = 1 << 18  # characters of a YAML text, which is slow to read
DEEPEST = 100  # mappings and lists inside one another
MOST = 20_000  # values of a YAML text with every alias written out
BOUND = 1 << 128  # whole numbers are smaller than this: the state of a generator has 128 bits
TOO_DEEP = f"it is nested more than {DEEPEST} deep"
TOO_LARGE = "it holds a whole number of more than 38 digits"
TOO_MANY = f"with its aliases written out it has more than {MOST:,} values"


def read_bytes(path: Path, largest: float = LARGEST, links: bool = False) -> bytes:
    """The content of a plain file: no folder, pipe or device and, unless `links`, no symbolic link."""
    with open_plain(path, links) as file:
        size = os.fstat(file.fileno()).st_size
        if size > largest:
            raise OSError(errno.EFBIG, f"it has {size:,} bytes, more than the {largest:,} that are read")
        return file.read(size)


@contextmanager
def open_plain(path: Path, links: bool = False) -> Iterator[BufferedReader]:
    """A plain file, opened; what is none is an OSError at once, and never waited for."""
    more = getattr(os, "O_NONBLOCK", 0)  # a pipe would wait for somebody to write to it
    if not links:
        more |= getattr(os, "O_NOFOLLOW", 0)
        if path.is_symlink():
            raise OSError(errno.ELOOP, "it is a link")
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | more)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        yield file


def read_json(path: Path, largest: int = LARGEST, links: bool = False) -> Any:
    """The value that a JSON file holds."""
    return parse_json(read_bytes(path, largest, links))


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. NaN and infinity, which Python would read, are not JSON."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except ValueError as error:
        raise ValueError(TOO_LARGE if "digits" in str(error) else str(error)) from None
    check_plain(value)
    return value


def parse_yaml(text: str) -> Any:
    """The value of a YAML text; yaml.YAMLError where it is none."""
    if len(text) > LONGEST:
        raise ValueError(f"it has {len(text):,} characters, more than the {LONGEST:,} that are read")
    loader = _Loader(text)
    try:
        value = loader.get_single_data()
    except RecursionError:
        raise ValueError(TOO_DEEP) from None
    except (LookupError, AttributeError, TypeError, OverflowError) as error:  # a tag on a text that does not fit it
        raise ValueError(f"a value is not what its tag says ({type(error).__name__})") from None
    finally:
        loader.dispose()
    check_plain(value)
    return value


def check_plain(value: Any) -> None:
    """Raises ValueError unless these are nested mappings, lists, texts and numbers that JSON can say."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.keys())
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
            else:
                _check_leaf(item)
        if not inner:
            return
        level = inner
    raise ValueError(TOO_DEEP)


def _check_leaf(item: Any) -> None:
    if isinstance(item, str):
        if not item.isascii() and any("\ud800" <= letter <= "\udfff" for letter in item):
            raise ValueError("it holds half of a character, which cannot be written anywhere")
    elif isinstance(item, int):
        if not -BOUND < item < BOUND:
            raise ValueError(TOO_LARGE)
    elif isinstance(item, float):
        if not isfinite(item):
            raise ValueError(f"it holds the number {item}, which nothing can be computed with")
    elif item is not None:
        raise ValueError(f"it holds a {type(item).__name__}. Put it in quotes if it is meant as a text")


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


class _Loader(yaml.SafeLoader):
    """YAML as people write numbers: 1e-4 is one, although YAML 1.1 wants 1.0e-4. A key that stands twice is refused."""

    depth = count = 0

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.sizes: dict[str, int] = {}  # how many values an anchor stands for

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Stop at once where there is too much with every alias written out, not when all of it has been read."""
        anchor, before = self.peek_event().anchor, self.count  # type: ignore[no-untyped-call]
        if self.check_event(yaml.AliasEvent) and anchor in self.anchors:
            if anchor not in self.sizes:  # it holds itself
                raise ValueError(TOO_DEEP)
            self.count += self.sizes[anchor]
        self.depth, self.count = self.depth + 1, self.count + 1
        if self.depth > DEEPEST or self.count > MOST:
            raise ValueError(TOO_DEEP if self.depth > DEEPEST else TOO_MANY)
        node = super().compose_node(parent, index)
        self.sizes |= {anchor: self.count - before} if anchor else {}
        self.depth -= 1
        return node

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        if len(node.value) > 64:
            raise ValueError(TOO_LARGE)
        return int(super().construct_yaml_int(node))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for key, _ in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and names[key.value] > 1:
                raise yaml.MarkedYAMLError(problem=f"'{key.value}' stands twice", problem_mark=key.start_mark)
        return super().construct_mapping(node, deep)


_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+")
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", _NUMBER, list("-+.0123456789"))


def plain(value: Any) -> Any:
    """The value in JSON's own types. What JSON cannot say, NaN and infinity, becomes null."""
    if type(value) in (str, int, bool, NoneType):  # most are
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    return value
