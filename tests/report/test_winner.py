"""The closing sentence names the winner, its margin and what the margin is due to, from the runs that are there."""

import pytest
from made_runs import made, panel_of

from gotta.report import rates
from gotta.report.answer import answer
from gotta.report.winner import name_winner

BASE = (50.0, 60.0, 55.0, 65.0)
WOBBLE = ((1, 0.3, 0.5, -0.2), (-0.5, 0.2, -1, -0.3), (0.2, -0.6, 0.9, -0.5))  # adds up to nothing
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


def closing(*groups):
    return name_winner(panel_of([run for group in groups for run in group]))


def test_the_margin_is_split_into_statistics_and_prior():
    told = closing(deskew(30), class_statistics(12), runs(0), control(1, 0.05), control(5, 0.1))
    assert told.startswith("Best of all 3: deskew, sticky prior at 87.5 %; +25.0 ± ")
    assert "over running statistics of norm without a memory, at their best rate (0.1): +7.0 ± " in told
    assert "of it from class statistics, +18.0 ± " in told
    assert told.endswith(
        "from the prior (intervals at 95%, each for itself); best without a prior: norm + class statistics at 69.5 %."
    )


def test_without_the_halves_only_the_margin_is_told():
    told = closing(deskew(30), runs(0), control(5, 0.05))
    assert "+25.0 ± " in told
    assert "over running statistics of norm without a memory, at rate 0.05 (intervals" in told


def test_a_part_that_is_noise_is_said_to_be():
    told = closing(deskew(12.1, noise=3.0), class_statistics(12), runs(0), control(5, 0.1))
    assert "not distinguishable from norm + class statistics" in told
    assert "(not told from 0) from the prior" in told


def test_a_memory_at_its_best_rate_can_win():
    told = closing(runs(20, "fps", method__rate=0.2), runs(3, "fps", method__rate=0.05), runs(0), control(5, 0.1))
    assert told.startswith("Best of all 3: norm + fps, at its best rate (0.2) at 77.5 %; +15.0")
    assert "running statistics without a memory, at their best rate (0.1), which is what the memory adds" in told


def test_there_is_no_verdict_across_unequal_steps():
    told = closing(runs(30, regime__batch_size=64, regime__adapt_every=None), runs(3, "fps"), control(5, 0.05))
    assert "Best of all 2: norm + none at 87.5 %; no verdict against running statistics" in told
    assert "(steps of 64 samples against 32)" in told
    assert "+" not in told.replace("norm + none", "")


def test_without_a_control_the_source_model_is_the_measure():
    told = closing(runs(0, method="source"), runs(10, "fps"), runs(1))
    assert told.startswith("Best of all 2: norm + fps at 67.5 %; +10.0 ± ")
    assert "over the source model" in told
    assert closing(runs(10, "fps"), runs(1)) == "Best of all 2: norm + fps at 67.5 %."


def test_one_entry_is_no_contest():
    assert closing(runs(10, "fps")) == closing() == ""
    assert closing(runs(10, "fps"), control(12, 0.05)) == ""


def test_controls_and_the_source_model_do_not_win():
    assert closing(runs(10, "fps"), runs(1), control(40, 0.05), runs(50, method="source")).startswith(
        "Best of all 2: norm + fps"
    )


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
    assert str(told).endswith(told.closing)
    assert told.closing.startswith("Best of all 4: deskew, sticky prior at 87.5 %")
    sentence = told.findings[0].sentence
    assert "the best memory is fps, 3.0 ± " in sentence
    assert "fps is 0.5 ± " in sentence
    assert "below running statistics without a memory at the same rate (0.05)" in sentence
    assert "each at its best rate, fps (0.2) is 7.0 ± " in sentence
    assert "above running statistics without a memory (0.1)" in sentence
