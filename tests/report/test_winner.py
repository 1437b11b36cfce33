"""The headline names the winner, its margin and what the margin is due to, from the runs that are there."""

import random

import pytest
from made_runs import made, panel_of

from gotta.report import rates
from gotta.report.answer import answer
from gotta.report.tables.views import views
from gotta.report.winner import contestants, find_winner

BASE = (50.0, 60.0, 55.0, 65.0)
WOBBLE = ((1, 0.3, 0.5, -0.2), (-0.5, 0.2, -1, -0.3), (0.2, -0.6, 0.9, -0.5))  # adds up to nothing
STICKY = {"method__prior": "sticky"}
CONTROL = {"memory": "none", "control": "running_statistics"}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(rates, "best_rates", lambda: {("norm", "fps"): 0.2, ("norm", "running_statistics"): 0.1})


def runs(gain, memory="none", method="norm", noise=0.2, **options):
    return [
        made(
            memory,
            method,
            tuple(b + gain + noise * w for b, w in zip(BASE, WOBBLE[seed], strict=True)),
            seed,
            **options,
        )
        for seed in range(3)
    ]


def deskew(gain, **options):
    return runs(gain, method="deskew", method__statistics="class", method__prior="sticky", **options)


def class_statistics(gain, **options):
    return runs(gain, method__statistics="class", **options)


def control(gain, rate, **options):
    return runs(gain, method__rate=rate, method__statistics="running", **CONTROL, **options)


def winner(*groups):
    return find_winner(panel_of([run for group in groups for run in group]))


def headline(*groups):
    return winner(*groups).headline


def test_the_margin_is_split_into_statistics_and_prior():
    told = winner(deskew(30), class_statistics(12), runs(0), control(1, 0.05), control(5, 0.1))
    assert told.headline.startswith("The best of 3 is deskew, sticky prior, at 87.5 %; it is 25.0 ± ")
    assert "above running statistics of norm without a memory, at their best rate (0.1): +18.0 ± " in told.headline
    assert " from the prior, +7.0 ± " in told.headline
    assert told.headline.endswith(" from class statistics.")
    assert told.notes == (
        "Best without a prior: norm + class statistics at 69.5 %.",
        "Intervals at 95%, each for itself.",
    )


def test_it_is_one_sentence():
    for groups in (
        [deskew(30), class_statistics(12), runs(0), control(1, 0.05), control(5, 0.1)],
        [runs(10, "fps")],
        [runs(10, "fps"), runs(1), runs(50, method="source")],
        [runs(10, "fps"), runs(10, "fifo"), runs(1, "cds")],
    ):
        told = headline(*groups)
        assert told.endswith(".")
        assert ". " not in told


def test_without_the_halves_only_the_margin_is_told():
    told = headline(deskew(30), runs(0), control(5, 0.05))
    assert "it is 25.0 ± " in told
    assert told.endswith("above running statistics of norm without a memory, at rate 0.05.")


def test_of_several_columns_with_running_statistics_the_best_is_compared_with():
    for norm, rotta, best in ((5, 9, "rotta"), (9, 5, "norm")):
        told = headline(deskew(30), runs(0), control(norm, 0.05), control(rotta, 0.05, method="rotta"))
        assert "it is 21.0 ± " in told
        assert told.endswith(f"above running statistics of {best} without a memory, at rate 0.05.")


def test_a_part_that_is_noise_is_said_to_be():
    told = headline(deskew(12.1, noise=3.0), class_statistics(12), runs(0), control(5, 0.1))
    assert "The highest of 3 is deskew, sticky prior, at 69.6 %, but it cannot be told from norm + class" in told
    assert "(cannot be told from 0) from the prior" in told


def test_a_memory_at_its_best_rate_can_win():
    told = headline(runs(20, "fps", method__rate=0.2), runs(3, "fps", method__rate=0.05), runs(0), control(5, 0.1))
    assert told.startswith("The best of 3 is norm + fps, at its best rate (0.2), at 77.5 %; it is 15.0 ± ")
    assert "running statistics without a memory, at their best rate (0.1), which is what the memory adds" in told


def test_of_two_rates_of_the_control_the_higher_one_counts():
    """A rate that was best elsewhere may not be best here."""
    memory = [*runs(20, "fps", method__rate=0.2), *runs(3, "fps", method__rate=0.05), *runs(0)]
    told = headline(memory, control(5, 0.1), control(7, 0.05))
    assert "it is 13.0 ± " in told
    assert "running statistics without a memory, at rate 0.05, which is what the memory adds" in told
    assert "it is 11.0 ± " in headline(memory, control(9, 0.1), control(7, 0.05))


def test_what_a_memory_adds_is_only_said_where_it_adds_something():
    assert "adds" not in headline(runs(2, "fps"), runs(0), control(5, 0.05))
    assert "below running statistics without a memory" in headline(runs(2, "fps"), runs(0), control(5, 0.05))
    noisy = headline(runs(5.1, "fps", noise=3), runs(0), control(5, 0.05))
    assert "so nothing that the memory adds can be told" in noisy
    assert "which is what class statistics add" in headline(class_statistics(12), runs(0), control(5, 0.05))


def test_of_a_method_that_learns_the_memory_is_compared_with_the_method_alone():
    told = headline(runs(9, "fps", "tent"), runs(1, method="tent"), runs(3, "fps"), control(5, 0.05))
    assert "; its memory adds +8.0 ± " in told
    assert told.endswith(" to tent.")


def test_there_is_no_verdict_across_unequal_steps():
    told = headline(runs(30, regime__batch_size=64, regime__adapt_every=None), runs(3, "fps"), control(5, 0.05))
    assert told.startswith("The highest of 2 is norm without a memory, at 87.5 %; there is no verdict against running")
    assert "(steps of 64 samples against 32)" in told
    assert "±" not in told


def test_without_a_control_the_source_model_is_the_measure_and_else_the_next():
    told = headline(runs(0, method="source"), runs(10, "fps"), runs(1))
    assert told.startswith("The best of 2 is norm + fps, at 67.5 %; it is 10.0 ± ")
    assert "points above the source model" in told
    told = headline(runs(10, "fps"), runs(1, "fifo"))
    assert "above the next, norm + fifo" in told
    assert (
        headline(runs(10, "fps"), runs(1, **STICKY)) == "The best of 2 is norm + fps, at 67.5 %."
    )  # not across a prior


def test_one_entry_is_told_with_what_there_is_to_compare_with():
    assert headline(runs(10, "fps")) == "The only entry is norm + fps, at 67.5 %."
    told = headline(runs(10, "fps"), control(12, 0.05))
    assert told.startswith("The only entry is norm + fps, at 67.5 %; it is 2.0 ± ")
    assert "below running statistics without a memory, at rate 0.05" in told


def test_without_an_entry_nothing_wins():
    assert headline() == ""
    assert (
        headline(runs(0, method="source"))
        == "There is nothing to choose from: only the source model at 57.5 % was run."
    )
    assert "only norm, control: running statistics at 62.5 % was run" in headline(control(5, 0.05))


def test_equal_numbers_share_the_first_place():
    told = winner(runs(10, "fps"), runs(10.01, "fifo"), runs(1, "cds"))
    assert told.headline.startswith("Equal first of 3 are norm + fifo and norm + fps, at 67.5 %")
    assert [entry.row for entry in told.first] == ["fifo", "fps"]
    many = [runs(5, f"mine{k}") for k in range(5)]
    assert headline(*many) == "Equal first are 5 of 5, at 62.5 %."


def test_one_stream_makes_no_winner():
    told = headline([made("fps", scores=(70.0,))], [made("none", scores=(30.0,))])
    assert told.startswith("The highest of 2 is norm + fps, at 70.0 %, in this one stream; it is 40.0 points above")
    assert "best" not in told
    assert "±" not in told


def test_controls_and_the_source_model_do_not_win_but_are_told():
    told = winner(runs(10, "fps"), runs(1), control(40, 0.05), runs(50, method="source"))
    assert told.headline.startswith("The best of 2 is norm + fps")
    assert told.headline.endswith("nothing reaches the source model, at 107.5 %.")
    assert told.notes[0] == "Higher, but only there to compare with: norm, control: running statistics at 97.5 %."


@pytest.mark.parametrize("seed", range(12))
def test_it_never_contradicts_the_table(seed):
    """Whatever was run, the first are the starred cells, and no ranked cell shows more."""
    rng = random.Random(seed)
    found = []
    for method in rng.sample(["source", "norm", "tent", "deskew"], rng.randint(1, 4)):
        for memory in rng.sample(["none", "fifo", "fps", "cds"], rng.randint(1, 4)):
            prior = {"method__prior": "sticky"} if rng.random() < 0.3 else {}
            level = rng.choice([50, 50.02, 60, 70])
            for k in range(rng.choice([1, 2, 3])):
                scores = [level + rng.choice([0, 0, 1]) for _ in range(rng.choice([1, 4]))]
                found.append(made(memory, method, scores, k, **prior))
    panel = panel_of(found)
    told, view = find_winner(panel), views(panel)[0]
    starred = {
        (column, name)
        for name, _, cells in view.rows
        for column, shown in zip(panel.columns, cells, strict=True)
        if shown.top == "★"
    }
    entries = contestants(panel)
    if len(entries) > 1:
        assert starred == {(entry.column, entry.row) for entry in told.first}
        assert max(float(entry.cell.number) for entry in entries) == float(told.first[0].cell.number)
        assert f"{told.first[0].cell.number} %" in told.headline


def test_the_answer_ends_with_it_and_compares_memories_at_both_rates():
    every = [
        *runs(0, control="same_samples"),
        *(run for rate, gain in ((0.05, 3), (0.2, 12)) for run in runs(gain, "fps", method__rate=rate)),
        *runs(2, "fifo", method__rate=0.05),
        *control(3.5, 0.05),
        *control(5, 0.1),
        *deskew(30),
    ]
    told = answer(panel_of(every))
    assert str(told).endswith(str(told.winner))
    assert told.winner.headline.startswith("The best of 4 is deskew, sticky prior, at 87.5 %")
    sentence = told.findings[0].sentence
    assert "norm: at the usual rates, the best memory is fps, 3.0 ± " in sentence
    assert "fps is 0.5 ± " in sentence
    assert "below running statistics without a memory at the same rate (0.05)" in sentence
    assert "each at its best rate, fps (0.2) is 7.0 ± " in sentence
    assert "above running statistics without a memory (0.1)" in sentence


def test_a_best_rate_that_is_worse_here_is_said_to_be():
    both = [*runs(9, "fps", method__rate=0.05), *runs(2, "fps", method__rate=0.2), *control(4, 0.05), *control(1, 0.1)]
    sentence = answer(panel_of([*runs(0, control="same_samples"), *both])).findings[0].sentence
    assert (
        "(these rates were best on other images; here fps and running statistics have more at the usual rate)"
        in sentence
    )
    worse = [*runs(3, "fps", method__rate=0.05), *runs(9, "fps", method__rate=0.2), *control(4, 0.05), *control(5, 0.1)]
    sentence = answer(panel_of([*runs(0, control="same_samples"), *worse])).findings[0].sentence
    assert "other images" not in sentence


def test_what_has_no_effect_is_not_ranked():
    idle = runs(20, "fps", "tent", summary={"no_effect": "nothing to train"})
    entries = contestants(panel_of([*runs(0, "fps"), *idle]))
    assert [entry.column for entry in entries] == ["norm"]
