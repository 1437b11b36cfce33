"""The pages of the paper's tables, on runs whose numbers are known."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from made_runs import made
from pages.study import WORDS, Page, Study, judge, make_page, one_screen

PAGES = {name: Page(name, **about) for name, about in WORDS["pages"].items()}
ALONE = {"memory__capacity": None, "regime__batch_size": 64, "regime__adapt_every": None}
LEVELS = {"none": 20.0, "fifo": 50.0, "cstu": 60.0, "fps": 63.0}


def study(seeds, levels=LEVELS, control=56.0):
    return Study(list_runs(seeds, levels, control))


def list_runs(seeds, levels=LEVELS, control=56.0):
    runs = []
    for seed in seeds:
        for memory, level in levels.items():
            runs.append(run(memory, level, seed, **(ALONE if memory == "none" else {})))
        runs.append(
            run("none", control, seed, control="running_statistics", method__statistics="running", method__rate=0.05)
        )
        runs.append(run("none", 15.0, seed, control="same_samples", regime__adapt_every=None))
    return runs


def run(memory, level, seed, **settings):
    scores = [level + k + 0.1 * ((seed + 2 * k) % 3) for k in range(4)]
    return made(memory, "norm", scores, seed, data__name="cifar10_c", **settings)


def test_claims_need_two_seeds_and_say_whether_the_control_passes_them_too():
    found = {(one.claim.above, one.claim.below): one for one in judge("table1", study((0, 1, 2)))}
    assert {key: (one.verdict, one.passes) for key, one in found.items()} == {
        ("fps", "fifo"): ("confirmed", "yes"),
        ("fps", "cstu"): ("confirmed", "no"),
        ("fps", "none"): ("confirmed", "yes"),
    }
    assert found["fps", "none"].found.estimate.mean == pytest.approx(48, abs=0.2), "against steps of 32, not of 64"
    assert {one.verdict for one in judge("table1", study((0,)))} == {"undecided"}


def test_a_page_has_ours_beside_the_printed_and_their_agreement():
    page = make_page(PAGES["table1"], study((0, 1, 2)))
    assert "| fps | **64.6** (76.11) |" in page
    assert "| *no memory, running statistics* | 57.6 |" in page
    assert "| tau | +0.67 (n=4) |" in page
    assert "The control without a memory passes 2 of the 3 confirmed." in page
    assert "| fps above cstu, M=32 | Norm | +4.62 | +3.0 ± 0.0 | confirmed | no |" in page


def test_with_one_seed_ranges_are_shown_and_no_interval():
    page = make_page(PAGES["table1"], study((0,)))
    assert "±" not in page
    assert "| +3.0 (+3.0 to +3.0) | undecided |" in page


def test_means_are_over_the_seeds_that_all_rows_have():
    short = Study([*list_runs((0,)), run("fps", 90.0, 1)])
    assert "| fps | **64.6** (76.11) |" in make_page(PAGES["table1"], short)


def test_a_page_without_runs_names_its_command():
    page = make_page(PAGES["table3"], study((0,)))
    assert "No runs of this page are kept yet." in page
    assert "gotta bench table3 --study" in page


def test_a_comparison_that_two_pages_make_counts_once():
    screen = one_screen(list(PAGES.values()), study((0, 1, 2)))
    assert (
        "| [Table 1: every method with every memory, M = 32](table1.md) | 18 | Norm +0.67 (n=4) | 3 | 0 | 0 | 0 | 2 |"
        in screen
    )
    assert "**5 comparisons: 5 confirmed.**" in screen
