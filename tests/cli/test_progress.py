"""What a sweep shows while it runs, on a terminal and elsewhere."""

from io import StringIO

import pytest

from gotta.cli import progress
from gotta.cli.progress import follow
from gotta.cli.terminal import Console
from gotta.experiment.sweep.cell import Event

LABELS = {"a": "norm + fps, seed 0", "b": "tent + fifo, seed 1"}


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(progress, "monotonic", lambda: now[0])
    return now


def shown(events, terminal, clock=None, after=0.0):
    text = StringIO()
    console = Console(file=text, force_terminal=terminal, width=140, color_system=None)
    with follow(console, LABELS) as listen:
        for event in events:
            listen(event)
            if clock is not None:
                clock[0] += after
    return text.getvalue()


def moves(id, count, steps=1000):
    return [Event("moved", id, step, steps, 61.24) for step in range(1, count + 1)]


def test_elsewhere_a_line_per_finished_run_and_no_flood(clock):
    events = [Event("started", "a"), *moves("a", 500), Event("finished", "a", accuracy=62.5)]
    lines = shown([*events, Event("failed", "b", message="no such domain")], False, clock, after=0.01).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("[1/2] norm + fps, seed 0: accuracy 62.50")
    assert "left" in lines[0]
    assert "FAILED: no such domain" in lines[1]


def test_elsewhere_quiet_runs_say_now_and_then_where_they_are(clock):
    lines = shown([*moves("a", 1), *moves("b", 100)], False, clock, after=1.0).splitlines()
    assert len(lines) == 2  # after 30 and 90 of a hundred seconds
    assert lines[0].startswith(
        "[0/2] running: norm + fps, seed 0 at step 1 of 1000, accuracy 61.2; tent + fifo, seed 1"
    )


def test_elsewhere_a_slow_machine_says_it_ever_more_rarely(clock):
    assert len(shown(moves("a", 1000), False, clock, after=4.0).splitlines()) == 7  # in more than an hour


def test_a_notice_is_shown_at_once():
    for terminal in (False, True):
        text = shown([Event("notice", "a", message="its snapshot cannot be used")], terminal)
        assert "norm + fps, seed 0: its snapshot cannot be used" in text


def test_a_terminal_shows_runs_of_others_in_their_middle_and_their_end():
    text = shown([*moves("b", 3), Event("finished", "b", accuracy=50.0), Event("finished", "a", accuracy=1.0)], True)
    assert "tent + fifo, seed 1" in text
    assert "2 of 2 runs" in text


def test_thousands_of_runs_do_not_flood_a_terminal(monkeypatch):
    monkeypatch.setattr(progress, "SHOWN", 1)
    events = [Event("started", "a"), *moves("b", 3), Event("finished", "a", accuracy=50.0), *moves("b", 1)]
    first = shown(events[:4], True)
    assert "norm + fps" in first
    assert "tent + fifo" not in first
    assert "tent + fifo" in shown(events, True), "it has the room of the one that has finished"
