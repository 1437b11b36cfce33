"""The reader of the authors' pickled batches: right on them, and deaf to whatever else a pickle can say."""

import io
import os
import pickle
import pickletools
import struct
import time

import numpy as np
import pytest
from data.cifar_files import python2_pickle

from gotta.data.readers.cifar_pickle import read_batch
from gotta.errors import GottaError

ROWS = np.random.default_rng(0).integers(0, 256, (5, 3072), dtype=np.uint8)
LABELS = [3, 0, 9, 9, 1]


def batch(**changes):
    return {b"batch_label": b"b", b"labels": LABELS, b"data": ROWS, b"filenames": [b"a.png"] * 5} | {
        key.encode(): value for key, value in changes.items()
    }


def test_python_2_batches():
    data = python2_pickle(ROWS, LABELS)
    pickletools.dis(data, out=io.StringIO())  # fails unless stack and memo of this pickle are consistent
    rows, labels = read_batch(data, "test_batch")
    assert rows.dtype == np.uint8
    assert np.array_equal(rows, ROWS)
    assert labels.tolist() == LABELS


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_batches_pickled_again_by_python_3(protocol, order):
    data = pickle.dumps(batch(data=np.asarray(ROWS, order=order)), protocol=protocol)
    rows, labels = read_batch(data, "test_batch")
    assert np.array_equal(rows, ROWS)
    assert labels.tolist() == LABELS


def test_memoized_values_are_found_again():
    shared = [1, 2, 3, 4, 5]
    _, labels = read_batch(pickle.dumps(batch(other=shared, labels=shared), protocol=2), "test_batch")
    assert labels.tolist() == shared


class Shell:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_command_in_a_pickle_is_not_run(tmp_path, protocol):
    touched = tmp_path / "touched"
    data = pickle.dumps(batch(filenames=Shell(f"touch {touched}")), protocol=protocol)
    with pytest.raises(GottaError, match="was not executed"):
        read_batch(data, "test_batch")
    assert not touched.exists()


@pytest.mark.parametrize(
    "name", [b"os\nsystem", b"builtins\neval", b"numpy\nload", b"posix\nsystem", b"numpy.core\n_reconstruct"]
)
def test_no_other_name_is_known(name):
    with pytest.raises(GottaError, match="unexpected name"):
        read_batch(b"\x80\x02c" + name + b"\nU\x04true\x85R.", "test_batch")


@pytest.mark.parametrize(
    "code",
    [
        b"(iposix\nsystem\n.",  # INST
        b"(U\x01acos\nsystem\no.",  # OBJ
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",  # STACK_GLOBAL
        b"\x80\x02\x82\x01.",  # EXT1
        b"Pname\n.",  # PERSID
        b"\x80\x02cnumpy\nndarray\n)\x81.",  # NEWOBJ
    ],
)
def test_other_ways_to_make_objects_are_unknown(code):
    with pytest.raises(GottaError, match="unexpected"):
        read_batch(code, "test_batch")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (batch(data=ROWS[:, :100]), r"another shape than \[N, 3072\]"),
        (batch(data=ROWS.astype(np.int16)), "not an array of bytes"),
        (batch(data=[1, 2]), "not a batch of CIFAR-10"),
        (batch(labels=None), "not a batch of CIFAR-10"),
        ({b"labels": LABELS}, "data"),
        ([1, 2], "not a batch of CIFAR-10"),
    ],
)
def test_other_content(content, message):
    with pytest.raises(GottaError, match=message):
        read_batch(pickle.dumps(content, protocol=2), "test_batch")


def test_array_that_says_more_rows_than_it_has():
    data = python2_pickle(ROWS, LABELS).replace(
        struct.pack("<BBBH", 75, 5, 77, 3072), struct.pack("<BBBH", 75, 6, 77, 3072)
    )
    with pytest.raises(GottaError, match="not a batch"):
        read_batch(data, "test_batch")


def test_any_part_of_a_batch_is_an_error():
    data = python2_pickle(ROWS[:1], LABELS[:1])
    for end in [*range(0, 300, 7), len(data) - 40, len(data) - 1]:
        with pytest.raises(GottaError, match="not a batch"):
            read_batch(data[:end], "test_batch")


def test_noise_is_an_error():
    rng = np.random.default_rng(1)
    for _ in range(200):
        noise = io.BytesIO(b"\x80\x02" + rng.bytes(60)).getvalue()
        with pytest.raises(GottaError):
            read_batch(noise, "test_batch")


DEEP = 30_000


@pytest.mark.parametrize(
    "code",
    [
        b"(" * DEEP + b"t" * DEEP + b".",
        b"(" * DEEP + b"t" * DEEP + b"}" + b"K\x01s.",
        b"}" + b"(" * DEEP + b"t" * DEEP + b"K\x01s.",
        b"]" + b"(" * DEEP + b"e" * DEEP + b".",
        b"(" * 2_500_000 + b".",
        b"]q\x00" + b"(h\x00h\x00e" * 3 + b".",
        b"(" * 40 + b"t" + b"e.",
        b"t.",
        b"(0t.",
    ],
)
def test_a_pickle_of_many_marks_ends_soon(code):
    began = time.monotonic()
    with pytest.raises(GottaError, match="It was not executed"):
        read_batch(b"\x80\x02" + code, "batch")
    assert time.monotonic() - began < 20


def test_a_list_that_holds_itself_is_no_list_of_labels():
    twice = [1]
    twice += [twice, twice]
    pickled = pickle.dumps(batch(labels=twice), 2)
    began = time.monotonic()
    with pytest.raises(GottaError, match="labels are not a list of numbers"):
        read_batch(pickled, "batch")
    assert time.monotonic() - began < 20
