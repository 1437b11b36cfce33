"""Files that anybody may have written: plain values, or one error in bounded time."""

import json
import os
import time
from itertools import pairwise

import pytest
import yaml

from gotta import json_yaml
from gotta.json_yaml import check_plain, parse_json, parse_yaml, read_bytes, read_json

SECONDS = 10.0


def refused(read, words):
    began = time.monotonic()
    with pytest.raises((ValueError, OSError), match=words):
        read()
    assert time.monotonic() - began < SECONDS


def aliases(first, more):
    """A text whose last line stands for 9 ** 9 values."""
    names = "abcdefghij"
    lines = [f"a: &a {first}"]
    lines += [f"{name}: &{name} " + more.format(", ".join([f"*{last}"] * 9)) for last, name in pairwise(names)]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 100_000, "nested"),
        ("[" * 120 + "]" * 120, "nested"),
        ('{"a":' * 100_000, "nested"),
        ("1" * 5000, "whole number"),
        ("-" + "1" * 40, "whole number"),
        ("[1e999]", "the number inf"),
        ("1" * 400 + ".0", "the number inf"),
        ("NaN", "NaN is not a number"),
        ('{"a": -Infinity}', "-Infinity is not a number"),
        ('"\\ud800"', "half of a character"),
        ('{"\\udfff": 1}', "half of a character"),
        (b"\xff\xff", "decode"),
        ("", "Expecting value"),
    ],
)
def test_json_that_no_program_should_hold_is_refused(text, words):
    refused(lambda: parse_json(text), words)


def test_json_of_every_kind_is_read():
    value = {"a": [1, -2.5, None, True, "é", 2**128 - 1], "b": {}}
    assert parse_json(json.dumps(value)) == value
    assert parse_json("[" * 100 + "]" * 100)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (aliases("[x, x, x, x]", "[{}]"), "aliases"),
        (aliases("{x: 1}", "{{<<: [{}]}}"), "aliases"),
        ("a: &a [*a, *a]", "nested"),
        ("".join(f"a{k}: &a{k} [{f'*a{k - 1}' if k else 1}]\n" for k in range(300)), "aliases"),
        ("[" * 100_000, "nested"),
        ("- " * 100_000, "nested"),
        ("? " * 100_000, "nested"),
        ("".join(" " * k + "a:\n" for k in range(300)), "nested"),
        ("[" + "1," * 100_000 + "]", "values"),
        ("a" * 300_000, "characters"),
        ("a: 0x" + "f" * 1000, "whole number"),
        ("a: " + "1" * 100_000, "whole number"),
        ("a: 1" + ":1" * 100_000, "whole number"),
        ("a: .inf", "the number inf"),
        ("a: 2020-01-01", "a date. Put it in quotes"),
        ("!!binary aGk=", "a bytes"),
        ("!!int ''", "tag"),
        ("!!timestamp x", "tag"),
    ],
)
def test_yaml_that_no_program_should_hold_is_refused(text, words):
    refused(lambda: parse_yaml(text), words)


@pytest.mark.parametrize("text", ["!!python/object/apply:os.system [ls]", "!!python/name:os.system", "a: 1\na: 2"])
def test_yaml_with_code_or_a_key_twice_is_no_yaml(text):
    with pytest.raises(yaml.YAMLError):
        parse_yaml(text)


def test_a_few_aliases_are_welcome():
    assert parse_yaml("a: &a {x: 1e-4}\nb: {<<: *a, y: 2}\nc: *a") == {
        "a": {"x": 1e-4},
        "b": {"x": 1e-4, "y": 2},
        "c": {"x": 1e-4},
    }


def test_only_plain_files_are_read(tmp_path):
    file, link, pipe = tmp_path / "file", tmp_path / "link", tmp_path / "pipe"
    file.write_text("[1]")
    link.symlink_to(file)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(pipe)
    assert read_json(file) == read_json(link, links=True) == [1]
    refused(lambda: read_bytes(link), "it is a link")
    refused(lambda: read_bytes(tmp_path / "dangling"), "it is a link")
    refused(lambda: read_bytes(tmp_path / "loop"), "it is a link")
    for links in (False, True):
        refused(lambda links=links: read_bytes(pipe, links=links), "not a plain file")
        refused(lambda links=links: read_bytes(tmp_path, links=links), "directory")
    refused(lambda: read_bytes(tmp_path / "nowhere"), "No such file")


def test_a_file_may_be_only_so_large(tmp_path, monkeypatch):
    sparse = tmp_path / "sparse"
    with sparse.open("wb") as file:
        file.truncate(1 << 40)
    refused(lambda: read_json(sparse), "more than")


def test_plain_values_are_those_that_json_has():
    check_plain({"a": [None, 1, 2.0, "b", {"c": []}]})
    for odd in ({1, 2}, b"x", (1,), object(), float("nan"), json_yaml.BOUND):
        with pytest.raises(ValueError, match="it holds"):
            check_plain({"a": [odd]})
