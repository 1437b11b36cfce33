"""The pages of the paper's tables, on runs whose numbers are known."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from made_runs import made  # noqa: E402
from pages import correlated, left_open  # noqa: E402
from pages.study import WORDS, Page, Study, judge, make, make_page, one_screen  # noqa: E402

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
    assert "No run with a memory is kept of this page yet." in page
    assert "gotta bench table3 --study" in page


def test_a_comparison_that_two_pages_make_counts_once():
    screen = one_screen(list(PAGES.values()), study((0, 1, 2)))
    assert "(table1.md) | 0 of 192 | Norm +0.67 (n=4) | 3 | 0 | 0 | 0 | 2 |" in screen, "these have ids of their own"
    assert "**5 comparisons: 5 confirmed.**" in screen
    assert "ours: · (M = 8), · (M = 16), · (M = 32), · (M = 64) ([figures of capacity](capacity.md))" in screen
    assert "+3.0 (practical: Dirichlet, never reset)" in screen


@pytest.fixture
def few(tmp_path):
    """A folder of results with some kept lines of the main table: three cells of Norm, one of RoTTA, one seed."""
    wanted = {("norm", "none"), ("norm", "fifo"), ("norm", "fps"), ("rotta", "fps")}
    lines = (ROOT / "results/study-a.jsonl").read_text(encoding="utf-8").splitlines()
    specs = [json.loads(line)["spec"] for line in lines]
    kept = [
        line
        for line, spec in zip(lines, specs, strict=True)
        if (spec["method"]["name"], spec["memory"]["name"]) in wanted and not spec["control"] and spec["seed"] == 0
    ]
    assert len(kept) == 4
    (tmp_path / "results").mkdir()
    (tmp_path / "results/study-x.jsonl").write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
    return tmp_path


def test_pages_of_a_few_kept_lines_say_what_was_run_and_what_was_not(few):
    pages = {path.stem: text for path, text in make(few).items()}
    assert (
        "What was run: Norm 3 of 12 cells (1 seed), RoTTA 1 of 11 cells (1 seed). Not run: Source, NOTE, TENT,"
        in (pages["table1"])
    )
    assert "| corruptions x seeds | 5 x 1 | 5 x 1 |" in pages["table1"]
    assert "| cstu | · (71.49) | · (69.23) |" in pages["table1"]
    assert "| fps above RoTTA with fps, M=32 | Norm |" in pages["table1"]
    assert "**3 comparisons: 3 undecided.**" in pages["table1"]
    assert "(table1.md) | 4 of 192 |" in pages["paper"]
    assert "What was run: Norm 3 of 40 cells (1 seed), RoTTA 1 of 40 cells (1 seed)." in pages["table2"]
    assert (
        "What was run: Norm 3 of 20 cells (1 seed), RoTTA 1 of 20 cells (1 seed). Not run: TENT." in pages["settings"]
    )
    assert "No run with a memory is kept of this page yet." in pages["table-m64"]
    assert "±" not in "".join(pages[name] for name in ("table1", "table2", "capacity", "settings", "epsilon"))


def test_what_results_lack_is_counted(few):
    (few / "results/README.md").write_text(
        "<!-- count of earlier -->\n<!-- end of count -->\n<!-- table of missing -->\n<!-- end of table -->"
    )
    (text,) = left_open.make(few).values()
    assert (
        "| Main table, M = 32: Norm, RoTTA, NOTE | 4 of 102 | `gotta bench table1 --study --method norm,rotta,note"
        in text
    )
    assert "| The four settings | 4 of 180 | `gotta bench settings --study --from results` | 1.5 |" in text
    assert "None." in text


def test_a_run_whose_part_has_another_version_now_is_counted():
    spec = run("fps", 60, 0).spec
    assert left_open.earlier({"here": [(spec.id, spec), ("0123", spec)], "there": [(spec.id, spec)]}).startswith(
        "1 run: 1 in `here`."
    )


def test_figures_of_capacity_compare_the_same_seeds_and_name_them():
    runs = [run(name, level, seed) for name, level in LEVELS.items() if name != "none" for seed in (0, 1)]
    runs += [run(name, level + 5, 0, memory__capacity=64) for name, level in LEVELS.items() if name != "none"]
    runs += [run("fps", 90.0, 1, memory__capacity=64)]
    page = make_page(PAGES["capacity"], Study(runs))
    assert "| fps | 64.6 | 69.6 |" in page
    assert "corruptions and the seeds that all of these cells have: 0." in page
    assert "which the paper says closes" not in page, "CDS, Reservoir and PBRS were not run"


def test_epsilon_is_shown_beside_the_default_of_the_same_cell():
    runs = [run("fps", 60.0, 0), run("fps", 58.0, 0, memory__epsilon=0.01)]
    page = make_page(PAGES["epsilon"], Study(runs))
    assert "## Norm, continual, M = 32" in page
    assert "| fps | · | 61.6 | 59.6 | · | +2.0 (+2.0 to +2.0) |" in page


def test_settings_are_columns_as_far_as_they_were_run():
    runs = [run("fps", 60.0, 0), run("fps", 70.0, 0, stream__order="iid", regime__reset="each_domain")]
    page = make_page(PAGES["settings"], Study(runs))
    assert "| memory | i.i.d., reset | practical: Dirichlet, never reset |" in page
    assert "| fps | 71.6 | 61.6 |" in page


def test_the_page_of_sorted_samples_has_published_errors_beside_ours(tmp_path):
    (empty,) = correlated.make(tmp_path).values()
    assert "No runs of this page are kept yet." in empty
    runs = [made("none", name, (60.0, 70.0), 0, stream_hash="s") for name in ("source", "lame")]
    text = "\n".join(correlated.tell(runs))
    assert "| source | 65.0 | 35.0 | 32.7 |  | 1 |" in text
    assert "| lame » | 65.0 | 35.0 | 11.3 | +0.0 (+0.0 to +0.0) | 1 |" in text
    assert "| deskew » | · | · |  |  | 0 |" in text
