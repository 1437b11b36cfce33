"""Rooms log by their module names, a line for each event, and only if somebody asks."""

import logging
import subprocess
import sys

import numpy as np
import pytest
import torch
from tiny import seeded_net

import gotta
from gotta.data.corruptions import corrupt
from gotta.experiment.sweep.store import Store
from gotta.memory import Memory
from gotta.report.results import read_results
from gotta.report.write import write_report

SMALL = {
    "method.name": "norm",
    "memory.name": "fifo",
    "memory.capacity": 4,
    "stream.per_class": 1,
    "stream.domains": ["snow"],
}


@pytest.fixture
def lines(caplog):
    """What was logged so far, by room; asking forgets it."""
    caplog.set_level(logging.DEBUG, "gotta")

    def take(room):
        found = [record.getMessage() for record in caplog.records if record.name.split(".")[1] == room]
        caplog.clear()
        return found

    return take


def images(seed=0, size=8):
    return torch.rand(size, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def test_rooms_tell_what_they_do(caplog, tmp_path):
    with caplog.at_level(logging.INFO, "gotta"):
        gotta.run(SMALL, out=tmp_path)
        write_report(read_results(Store(tmp_path)), pictures=False)
    rooms = {record.name.split(".")[1] for record in caplog.records}
    # Networks and data may have been read before, in this process.
    assert rooms - {"models", "data"} == {"streams", "experiment", "workflow", "report"}
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "1 runs, 0 finished before, 1 to do" in told
    assert "a stream of 10 samples in 3 batches" in told
    assert "report.html from 1 runs" in told


def test_evictions_and_new_classes_are_a_line_for_a_batch(lines):
    memory = Memory("fifo", capacity=4, num_classes=3)
    memory.observe(np.arange(4.0), label=[0, 1, 2, 0], uncertainty=[0.1] * 4, embedding=np.eye(4, 3))
    assert lines("memory") == []
    memory.observe(np.arange(3.0), label=[0, 1, 2], uncertainty=[0.1] * 3, embedding=np.eye(3))
    assert lines("memory") == ["evicted 3 rows: 3 of 3 samples stored, 4 rows"]
    memory.refresh(lambda x: gotta.types.Prediction(torch.eye(3)[[0, 0, 0, 0]].double(), None, "probs"))
    assert lines("memory") == ["predicted 4 rows anew: 2 have another class"]


def test_boundaries_and_what_a_prior_does_about_them(lines):
    model = gotta.adapt(seeded_net(), "source", prior="sticky")
    model(images())
    assert lines("priors") == []
    model.boundary()
    assert lines("priors") == ["sticky: a boundary"]


def test_a_prior_says_when_it_begins_to_act_and_when_it_stops(lines):
    prior = gotta.adapt(seeded_net(), "source", prior="patient").method.prior
    for classes in ([2] * 60, [*range(10)] * 30):
        logits = 4 * torch.eye(10)[classes]
        prior.follow(gotta.types.Prediction(logits, None, "probs"))
    assert lines("priors") == [f"patient: from now on it {what}" for what in ("acts", "leaves predictions as they are")]


def test_levels_that_move_a_method_that_starts_over_and_a_step_that_is_taken_back(lines):
    rows = np.arange(64)
    pixels = corrupt(gotta.data.dataset("cifar10-mini").images("clean", rows), "gaussian_noise", 5, index=rows)
    model = gotta.adapt(gotta.models.load("resnet20"), "deskew")
    for _ in range(2):
        model(torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float().div(255))
    assert "after 64 samples the levels are others" in lines("statistics")
    model.method.start_over()
    assert lines("methods") == ["Deskew starts over"]
    with pytest.warns(gotta.core.undo.UndoneWarning):
        model(torch.full((4, 3, 32, 32), 1e9))
    (told,) = lines("core")
    assert told.startswith("a step was taken back: it holds values more than")


def test_streams_that_have_to_go(lines):
    model = gotta.adapt(seeded_net(), "source", streams=1)
    model(images(), stream="a")
    assert lines("core") == []
    model(images(), stream="b")
    assert lines("core") == ["let go of streams: 0 of 1 stay"]


def test_nobody_is_told_who_did_not_ask():
    code = "import logging, gotta; logging.getLogger('gotta.x').error('loud')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
