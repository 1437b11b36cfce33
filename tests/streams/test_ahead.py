"""Reading ahead gives the same steps, whoever reads."""

import sys
import threading
import time

import numpy as np
import pytest
import torch
from tiny import TinyData

from gotta.data import Corrupted
from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec, read_ahead

SPEC = StreamSpec(domains="dark-5,bright-5", batch_size=16, schedule="mixed")


class Files(TinyData):
    pixels_from = "files"


def same(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second) > 1
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one.x, other.x)
        for name in ("label", "domain", "index"):
            assert np.array_equal(getattr(one.truth, name), getattr(other.truth, name))


@pytest.mark.parametrize("workers", [None, 0, 1, 3])
def test_the_steps_are_those_of_the_stream(workers):
    stream = Stream(Files(), SPEC)
    same(read_ahead(stream, workers=workers), stream)
    same(read_ahead(stream, 2, workers), list(stream)[2:])


@pytest.mark.thorough
def test_processes_give_the_same_steps(monkeypatch):
    monkeypatch.setattr(sys.modules[Corrupted.__module__], "KEEP", 0)
    images = np.random.default_rng(0).integers(0, 256, (30, 16, 16, 3), dtype=np.uint8)
    stream = Stream(Corrupted(images, np.arange(30) % 3, 3), StreamSpec(domains="snow,fog", batch_size=16))
    assert stream.dataset.pixels_from == "corrupting"
    same(read_ahead(stream, workers=1), stream)


def test_what_cannot_be_sent_is_read_in_threads():
    class Local(TinyData):
        pixels_from = "corrupting"

    stream = Stream(Local(), SPEC)
    same(read_ahead(stream, workers=1), stream)


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("gotta-ahead")]


def test_images_in_memory_need_no_reader_and_files_have_one():
    for data, expected in ((TinyData(), False), (Files(), True)):
        steps = read_ahead(Stream(data, SPEC))
        next(steps)
        assert bool(readers()) is expected
        steps.close()
        assert not readers()


def test_the_environment_decides_what_was_left_open(monkeypatch):
    monkeypatch.setenv("GOTTA_DATA_WORKERS", "0")
    steps = read_ahead(Stream(Files(), SPEC))
    next(steps)
    assert not readers()
    monkeypatch.setenv("GOTTA_DATA_WORKERS", "many")
    with pytest.raises(GottaError, match="GOTTA_DATA_WORKERS must be a number of workers"):
        next(read_ahead(Stream(Files(), SPEC)))


def test_reading_and_working_overlap():
    class Slow(Files):
        def images(self, domain, indices):
            time.sleep(0.05)
            return super().images(domain, indices)

    stream = Stream(Slow(), StreamSpec(domains="dark-5", batch_size=6))
    waiting = 0.0
    steps = read_ahead(stream, workers=1)
    next(steps)
    for _ in range(len(stream) - 1):
        time.sleep(0.08)
        before = time.perf_counter()
        next(steps)
        waiting += time.perf_counter() - before
    assert waiting < 0.5 * 0.05 * (len(stream) - 1)


def test_an_unreadable_image_ends_the_run_with_its_message():
    class Broken(Files):
        def images(self, domain, indices):
            if 20 in indices:
                raise GottaError("picture 20 is damaged")
            return super().images(domain, indices)

    with pytest.raises(GottaError, match="picture 20 is damaged"):
        list(read_ahead(Stream(Broken(), SPEC), workers=2))
    assert not readers()


def test_a_step_that_does_not_exist():
    with pytest.raises(GottaError, match="step 99 does not exist"):
        next(read_ahead(Stream(Files(), SPEC), 99))
