"""The pages that are made from kept runs are what these runs give."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from make_pages import NAMES, make  # noqa: E402
from pages.best_rates import Measured, measured  # noqa: E402
from pages.teaser import POLICIES, measure, record  # noqa: E402

from gotta.report.results import read_results  # noqa: E402
from gotta.report.rows import RUNNING  # noqa: E402

SLOW = ("choosing", "teaser")  # they look at networks and images


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_a_page_is_what_its_runs_give(name):
    """Else: python docs/make_pages.py NAME."""
    made = make(name)
    assert made
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, path


def test_no_page_of_tables_is_left_over():
    made = {path.name for path in make("tables")}
    assert {path.name for path in (ROOT / "docs/results/tables").iterdir()} == made


@pytest.mark.slow
def test_the_slow_page_is_what_its_runs_give():
    assert all(path.read_text(encoding="utf-8") == text for path, text in make("choosing").items())


def test_of_equal_rates_the_smallest_is_chosen():
    found = measured(read_results(ROOT / "results/statistics.jsonl").runs)
    one = next(one for one in found if one.row == RUNNING)
    runs = next(iter(one.runs.values()))
    assert Measured("norm", RUNNING, {0.1: runs, 0.05: runs}).best == 0.05


def test_diverse_memories_hold_no_copies_where_a_queue_holds_little_else():
    """The paper's Figure 1, from one recorded stream: 1,600 samples of 400 images."""
    stream = record()
    assert (len(stream.journal), stream.journal.frozen) == (1600, True)
    held = {name: measure(stream, name) for name in ("fifo", "fps")}
    assert set(held) < set(POLICIES)
    assert (held["fifo"]["images"], held["fps"]["images"]) == (9, 32)
    assert held["fps"]["near-dup z %"] == 0
