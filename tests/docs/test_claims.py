"""The paper's claims as data, and the verdict that our runs give on each."""

import pytest
from made_runs import made, panel_of
from pages.claims import claims, claims_table, judge, told_verdicts

from gotta.report.tables.render import markdown

IN_64 = {"memory__capacity": 64, "regime__batch_size": 64, "regime__adapt_every": 64}
ALONE = {"memory__capacity": None, "regime__batch_size": 64, "regime__adapt_every": None}


def panel(levels, seeds=(0, 1, 2), noise=0.1):
    runs = []
    for memory, level in levels.items():
        for seed in seeds:
            scores = [level + k + noise * ((seed + 2 * k) % 3) for k in range(4)]
            runs.append(made(memory, "norm", scores, seed, **(ALONE if memory == "none" else {})))
    return panel_of(runs)


def verdicts(found):
    return {(one.claim.above, one.claim.below): one.verdict for one in judge(found)}


def test_every_comparison_names_two_printed_cells_but_those_the_tables_leave_out():
    found = claims()
    assert len(found) > 80
    unprinted = {claim for claim in found if claim.printed is None}
    drawn = {claim for claim in found if (claim.page, claim.reset) == ("epsilon", "each_domain")}  # figures only
    assert drawn <= unprinted
    left = unprinted - drawn
    assert all("fifo" in (claim.above, claim.below) for claim in left), "Table 2 has no row of FIFO"
    assert {claim.capacity for claim in left} == {8, 16}
    first = next(claim for claim in found if (claim.method, claim.above, claim.below) == ("norm", "fps", "cstu"))
    assert first.printed == pytest.approx(76.11 - 71.49)


def test_a_claim_is_confirmed_reversed_or_neither_by_its_interval():
    found = verdicts(panel({"fps": 60, "cstu": 55, "fifo": 65}))
    assert found["fps", "cstu"] == "confirmed"
    assert found["fps", "fifo"] == "reversed"
    close = [made("fps", "norm", (60, 62, 61, 63), s) for s in range(2)]
    close += [made("cstu", "norm", (61, 61, 62, 62), s) for s in range(2)]
    assert verdicts(panel_of(close)) == {("fps", "cstu"): "not significant"}


def test_memories_that_are_said_to_be_level_may_be_a_point_apart():
    def verdict(fps):
        levels = {"fps": fps, "pbrs": 60, "cstu": 60}
        runs = [
            made(name, "norm", [level + k + 0.1 * ((seed + 2 * k) % 3) for k in range(4)], seed, **IN_64)
            for name, level in levels.items()
            for seed in range(3)
        ]
        found = {one.claim.words: one.verdict for one in judge(panel_of(runs)) if one.claim.page == "table-m64"}
        assert found.keys() == {"fps level with pbrs", "fps level with cstu"}
        return found["fps level with pbrs"]

    assert [verdict(level) for level in (61, 59.5, 58)] == ["confirmed", "confirmed", "reversed"]


def test_a_claim_across_methods_names_both():
    found = {claim.words: claim for claim in claims() if claim.other}
    assert found.keys() == {"fps above RoTTA with fps", "fps above NOTE with cstu", "fps above NOTE with fps"}
    assert found["fps above NOTE with cstu"].printed == pytest.approx(76.11 - 72.75)
    runs = [made("fps", "norm", (70, 71, 72, 73), s) for s in range(3)]
    runs += [made("fps", "rotta", (60, 61, 62, 63), s) for s in range(3)]
    (judged,) = judge(panel_of(runs))
    assert (judged.claim.words, judged.verdict) == ("fps above RoTTA with fps", "confirmed")


def test_no_memory_is_judged_by_the_control_in_equal_steps_or_not_at_all():
    unequal = panel({"fps": 60, "none": 20})
    assert verdicts(unequal)["fps", "none"] == "undecided"
    control = [
        made("none", "norm", (25, 26, 27, 28), s, control="same_samples", regime__adapt_every=None) for s in range(3)
    ]
    (found,) = [one for one in judge(panel_of([*unequal.runs, *control]))]
    assert found.verdict == "confirmed"
    assert found.found.estimate.mean == pytest.approx(35.1, abs=0.2)
    assert found.steps == ((32,), (32,))


def test_runs_with_other_statistics_or_a_prior_are_not_what_the_paper_claims_something_of():
    runs = [made("fps", "norm", (60, 61, 62, 63), s, method__prior="sticky") for s in range(3)]
    runs += [made("cstu", "norm", (50, 51, 52, 53), s) for s in range(3)]
    assert judge(panel_of(runs)) == []
    runs = [made("fps", "norm", (60, 61, 62, 63), s, method__statistics="class") for s in range(3)]
    runs += [made("cstu", "norm", (50, 51, 52, 53), s, method__statistics="class") for s in range(3)]
    assert judge(panel_of(runs)) == []


def test_the_table_tells_printed_and_measured_and_that_one_seed_decides_nothing():
    judged = judge(panel({"fps": 60, "cstu": 55}, seeds=(0,)))
    text = markdown(claims_table(judged))
    assert "| fps above cstu, M=32 | norm | +4.62 | +5.0 | undecided |" in text
    assert "Undecided: a verdict needs 5 pairs of domain and seed, from 2 seeds at least." in text
    assert "The paper, main results: with FPS, Norm and RoTTA outperform" in text
    assert told_verdicts(judged) == "1 undecided"
