import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import made
from made_store import steps_of, stored

from gotta.metrics import measures as module
from gotta.metrics.measures import MEASURES, Measure, balance, coverage, nearest_in_class
from gotta.report.page.webpage import page
from gotta.report.results import read_results


def test_balance_of_known_counts():
    assert balance(np.array([3, 3, 3, 3])) == pytest.approx(1.0)
    assert balance(np.array([5, 0, 0, 0])) == 0.0
    assert balance(np.array([2, 2, 0, 0])) == pytest.approx(0.5)
    assert balance(np.array([3, 1])) == pytest.approx(-(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)))
    assert balance(np.array([7])) == 1.0
    assert balance(np.array([0, 0])) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 30), st.sampled_from([1, 7, 1 << 20]))
def test_distances_equal_slow_obvious_loops(seed, stored, streamed, chunk):
    rng = np.random.default_rng(seed)
    points, label = rng.normal(size=(stored, 3)), rng.integers(3, size=stored)
    stream = rng.normal(size=(streamed, 3))
    before, module.CHUNK = module.CHUNK, chunk
    try:
        found, covered = nearest_in_class(points, label), coverage(stream, points)
    finally:
        module.CHUNK = before
    for i in range(stored):
        others = [math.dist(points[i], points[j]) for j in range(stored) if j != i and label[j] == label[i]]
        assert found[i] == pytest.approx(min(others, default=math.inf))
    assert covered == pytest.approx(sum(min(math.dist(s, p) for p in points) for s in stream) / streamed)


def test_one_entry_is_recorded_tabled_drawn_and_shown_on_the_page(tmp_path, monkeypatch, readable_names):
    spread = Measure(
        lambda held: float(np.ptp(held.points)), "spread", 2, "Spread: of the rows.", "Spread: of the rows"
    )
    monkeypatch.setitem(MEASURES, "spread", spread)

    def steps(run):
        return ({**step, "memory": {**step["memory"], "spread": 0.5 + step["step"]}} for step in steps_of(run))

    runs = [made(memory, summary={"buffer": {"rows": 32, "spread": 0.25}}) for memory in ("fps", "none")]
    results = read_results(stored(tmp_path, runs, steps))
    table = next(table for table in results.chapters[0].details if table.title == "Memory")
    assert table.rows[0].cells[table.columns.index("spread")].number == "0.25"
    assert table.caption[0].endswith("lower is closer. Spread: of the rows.")
    text = page(results)
    assert text.count("Spread: of the rows") == 2  # below the table, and for the dialog of a run
    assert text.count("of the rows") > 2  # and in the figure
    assert '"spread":[0.5,1.5,2.5' in text


@pytest.mark.parametrize("name", MEASURES)
def test_what_is_shown_has_its_words(name):
    measure = MEASURES[name]
    assert not (measure.meaning or measure.curve) or measure.heading
