"""What training and memories add to deskew, from runs alone."""

from pathlib import Path

import pytest
from made_runs import made

from gotta.errors import GottaError
from gotta.report.on_top import list_rows, page, tell


def runs(method, memory, gain, wobble=0.0):
    base = (70.0, 72.0, 74.0)
    return [
        made(memory, method, tuple(score + gain + wobble * (seed - 1) for score in base), seed=seed, stream_hash="same")
        for seed in (0, 1, 2)
    ]


@pytest.fixture
def all_runs():
    return [
        *runs("deskew", "none", 0.0),
        *runs("tent", "none", 2.0, 0.1),
        *runs("tent", "fifo", 2.5, 0.1),
        *runs("tent", "fps", 3.0, 0.1),
        *runs("sar", "none", -5.0, 0.1),
        *runs("sar", "fifo", 0.0, 3.0),
        *runs("sar", "fps", 0.1, 3.0),
    ]


def test_a_row_is_what_it_adds_to_deskew(all_runs):
    rows = list_rows(all_runs)
    assert {method: {m: round(one.estimate.mean, 6) for m, one in row.items()} for method, row in rows.items()} == {
        "tent": {"none": 2.0, "fifo": 2.5, "fps": 3.0},
        "sar": {"none": -5.0, "fifo": 0.0, "fps": 0.1},
    }
    assert rows["tent"]["fps"].distinguishable
    assert not rows["sar"]["fps"].distinguishable


def test_the_sentence_counts_what_is_certain(all_runs):
    told = tell(list_rows(all_runs))
    assert (
        "Of 6 rows 3 are above deskew for certain (tent + fifo, tent + fps, tent + none) and 1 below (sar + none);"
        in told
    )
    assert "tent +0.5, sar +0.1" in told


def test_the_page_has_a_table_for_each_store(all_runs):
    shown = page([all_runs, all_runs])
    assert shown.count("| fps | **+3.0 ±") == 2
    assert "`deskew` alone: 72.0 %" in shown


def test_without_deskew_there_is_nothing_to_compare_with():
    with pytest.raises(GottaError, match="gotta bench on-top"):
        list_rows(runs("tent", "none", 0.0))


def test_the_page_is_that_of_the_kept_runs():
    from gotta.report.results import read_results

    root = Path(__file__).parents[2]
    kept = [read_results(root / "results" / f"{name}.jsonl").runs for name in ("on-top", "on-top-video")]
    assert (root / "docs" / "results" / "on-top.md").read_text() == page(kept)
