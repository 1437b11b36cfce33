"""The sentence says no more than the runs."""

import pytest
from made_runs import made, panel_of

from gotta.report import answer as answering
from gotta.report import rates
from gotta.report.answer import answer, overall
from gotta.report.pairs import Difference
from gotta.report.statistics import Estimate
from gotta.report.tables.comparison import table
from gotta.report.tables.gains import gain_table
from gotta.report.tables.matrix import win_tie_loss

BASE = (50.0, 60.0, 55.0, 65.0)


def runs(gain, memory="fps", method="norm", seeds=(0, 1, 2), noise=0.2, **changes):
    """A memory with this gain over BASE in each seed and domain, up to some noise."""
    wobble = ((1, 0.3, 0.5, -0.2), (-0.5, 0.2, -1, -0.3), (0.2, -0.6, 0.9, -0.5))  # adds up to nothing
    return [
        made(
            memory,
            method,
            tuple(b + gain + noise * w for b, w in zip(BASE, wobble[seed], strict=True)),
            seed,
            **changes,
        )
        for seed in seeds
    ]


def findings(runs):
    return answering.findings(panel_of(runs))


def headline(runs):
    return str(answer(panel_of(runs)))


def none(**options):
    return runs(0, "none", noise=0, **options)


def test_a_clear_gain_is_told_with_its_interval():
    (found,) = findings([*none(), *runs(10), *runs(4, "fifo")])
    assert found.best == "fps"
    assert found.helps
    assert found.tied == ()
    text = headline([*none(), *runs(10), *runs(4, "fifo")])
    assert "norm: the best memory is fps, 10.0 ± 0." in text
    assert "points above no memory" in text
    assert "n=3" in text
    assert "not distinguishable" not in text


def test_what_cannot_be_told_apart_is_named():
    text = headline([*none(), *runs(10, noise=3), *runs(9.9, "fifo", noise=-1), *runs(2, "cds")])
    assert "not distinguishable from fifo" in text
    assert "cds" not in text


def test_a_gain_within_the_noise_is_no_gain():
    text = headline([*none(), *runs(1, noise=5)])
    assert "no memory can be told from none" in text
    assert "above no memory" not in text


def test_a_memory_that_harms_is_said_to():
    assert "no memory beats none: the best, fps, is 8.0 ±" in headline([*none(), *runs(-8)])


def test_the_control_takes_its_share():
    control = runs(9.9, "none", control="running_statistics", noise=0)
    text = headline([*none(), *runs(10, noise=1), *control])
    assert "fps cannot be told from running statistics without a memory (+0.1" in text
    assert "which account for +9.9 of +10.0" in text
    text = headline([*none(), *runs(10), *runs(4, "none", control="running_statistics")])
    assert "fps is 6.0 ± " in text
    assert "above running statistics without a memory, which account for +4.0 of +10.0" in text


def test_one_seed_says_so():
    text = headline([*none(seeds=[0]), *runs(10, seeds=[0])])
    assert "one seed, so other streams are not covered" in text


def test_two_seeds_are_taken_as_they_are():
    text = headline([*none(seeds=[0, 1]), *runs(10, seeds=[0, 1])])
    assert "the best memory is fps, 10.0 ± " in text
    assert "2 seeds, so other streams are not covered" in text


def test_memories_are_compared_with_each_other_where_there_is_no_row_without():
    (found,) = findings([*runs(10), *runs(4, "fifo"), *runs(9.9, "cds", noise=5)])
    assert not found.helps
    text = headline([*runs(10), *runs(4, "fifo"), *runs(9.9, "cds", noise=5)])
    assert (
        "without a row for no memory: norm: the best of 3 memories is fps at 67.5 %; not distinguishable from cds."
        in text
    )
    assert "cover other seeds (n=3)" in text


def test_many_ties_are_counted_not_named():
    many = [run for rows in range(12) for run in runs(5, f"mine{rows}", noise=1)]
    assert "none of the 11 others can be told from it" in headline(many)
    assert "not distinguishable from 11 of the 12 others" in headline([*many, *runs(-20, "fifo")])


def test_the_lead_says_for_which_methods_one_memory_stands_out():
    tent = {"method": "tent"}
    clear = [*none(), *runs(10), *runs(2, "fifo")]
    unclear = [*none(**tent), *runs(10, noise=3, **tent), *runs(9.9, "fifo", noise=-1, **tent)]
    assert "for 2 of 2 methods; clearly better than all other memories: fps for norm." in headline([*clear, *unclear])
    both = [*none(), *runs(10, noise=3), *runs(9.9, "fifo", noise=-1), *unclear]
    assert "for 2 of 2 methods; for no method can the best memory be told from any other." in headline(both)
    assert "others can be told" not in headline(both)  # not said again for each of them
    third = [*both, *runs(2, "cds")]
    assert "for 2 of 2 methods; for no method is one memory clearly better than all others." in headline(third)
    assert "not distinguishable from fifo" in headline(third)
    unpaired = [run for run in both if run.spec.memory.name != "none"]
    assert " there is no row without a memory to compare with; for no method can the best" in headline(unpaired)


def test_what_is_equal_to_the_control_is_said_to_be():
    control = runs(10, "none", control="running_statistics")
    assert "fps is equal to running statistics without a memory in every domain" in headline(
        [*none(), *runs(10), *control]
    )


def test_one_seed_and_one_domain_are_told_without_a_claim():
    runs_of = [
        made(memory, method, scores=(score,))
        for method in ("norm", "tent")
        for memory, score in (("none", 30.0), ("fps", 70.0), ("fifo", 60.0))
    ]
    control = made("none", scores=(69.0,), control="running_statistics")
    text = headline([*runs_of, control])
    assert "nothing can be told for sure." in text
    assert "norm: the best memory is fps, 40.0 points above no memory, in this one stream" in text
    assert "fps is 1.0 above running statistics without a memory." in text
    assert "No interval: one seed and one domain." in text
    assert "±" not in text
    assert "0 of 2" not in text
    panel = panel_of(runs_of)
    assert not any(cell.tied for row in table(panel).rows for cell in row.cells)
    assert not any(cell.tied for row in gain_table(panel).rows for cell in row.cells)
    assert gain_table(panel).caption == (
        "Difference of accuracy on the same stream; there is no interval: one seed and one domain.",
    )
    assert {(o.wins, o.ties, o.losses) for o in win_tie_loss(panel)[1].values()} == {(0, 0, 0)}


def test_intervals_are_wider_with_more_memories():
    few = findings([*none(), *runs(10, noise=1)])[0].over_none.estimate.half
    many = findings([*none(), *runs(10, noise=1), *(r for m in ("fifo", "cds", "pbrs") for r in runs(1, m))])
    assert many[0].over_none.estimate.half > few


def test_several_methods_are_counted():
    text = headline([*none(), *runs(10), *none(method="tent"), *runs(0.1, method="tent", noise=5)])
    assert "a memory is better than none for 1 of 2 methods." in text


def test_methods_with_and_without_an_interval_are_told_apart():
    single = [made(memory, "tent", (score,)) for memory, score in (("none", 20), ("fps", 60))]
    whole = [
        made(memory, "norm", (score + seed,), seed)
        for memory, score in (("none", 20), ("fps", 60))
        for seed in range(3)
    ]
    text = answer(panel_of([*single, *whole])).uncertainty
    assert "cover other seeds" in text
    assert "cover no interval" not in text
    assert text.endswith("No interval: one seed and one domain.")


def test_other_streams_give_no_claim():
    text = headline([*none(), *(made("fps", scores=(90,) * 4, seed=s, stream_hash=f"x{s}") for s in range(3))])
    assert "cannot be compared with none (seed 0: the streams differ)" in text
    assert "no intervals" in text


def test_nothing_to_compare():
    assert "nothing can be said" in headline([made("fps")])
    assert "nothing can be said" in headline([])


def test_several_set_ups_are_counted_together():
    better = [
        run for s in range(3) for run in (made("none", seed=s), made("fps", scores=(80.0, 82.0, 84.0, 86.5), seed=s))
    ]
    worse = [
        run for s in range(3) for run in (made("none", seed=s), made("fps", scores=(10.0, 12.0, 14.0, 16.5), seed=s))
    ]
    assert overall([answer(panel_of(better)), answer(panel_of(worse))]) == (
        "Over 2 set-ups, a memory is better than none for 1 of 2 methods and set-ups."
    )
    assert overall([answer(panel_of(better))]) == ""
    assert overall([]) == ""
    assert overall([answer(panel_of([made("fps"), made("fifo")]))] * 2) == ""


def in_steps_of_64(**options):
    return none(regime__batch_size=64, regime__adapt_every=None, **options)


def test_there_is_no_verdict_across_unequal_steps():
    text = headline([*in_steps_of_64(), *runs(-10)])
    assert "cannot be compared with none (steps of 32 samples against 64)" in text
    assert "below" not in text
    (found,) = findings([*in_steps_of_64(), *runs(10)])
    assert not found.helps
    assert "nothing can be told for sure" in headline(
        [*in_steps_of_64(), *runs(10), *in_steps_of_64(method="tent"), *runs(10, method="tent")]
    )


def test_the_control_in_the_same_steps_stands_in_for_no_memory():
    same = runs(2, "none", control="same_samples", noise=0)
    text = headline([*in_steps_of_64(), *same, *runs(10)])
    assert "the best memory is fps, 8.0 ± " in text
    assert "points above no memory in the same steps of 32" in text
    assert "no memory beats none in the same steps of 32" in headline([*in_steps_of_64(), *same, *runs(-10)])
    assert "in the same steps" not in headline([*none(), *same, *runs(10)])


def test_memories_in_steps_of_their_own_are_not_ranked_by_a_verdict():
    (found,) = findings([*runs(10), *runs(9.9, "fifo", noise=3, regime__adapt_every=8)])
    assert (found.tied, found.compared) == ((), 0)


def test_a_gain_across_unequal_steps_is_said_to_be_of_both():
    assert "size of a step" in " ".join(gain_table(panel_of([*in_steps_of_64(), *runs(10)])).caption)
    assert "size of a step" not in " ".join(gain_table(panel_of([*none(), *runs(10)])).caption)


def test_a_memory_on_another_stream_is_not_beaten():
    (found,) = findings([*none(), *runs(10), *runs(2, "fifo", stream_hash="another")])
    assert (found.best, found.tied, found.compared) == ("fps", (), 0)
    assert not found.stands_out


def test_what_the_table_shows_as_equal_is_no_rival_that_was_beaten():
    (found,) = findings([*none(), *runs(10, noise=0), *runs(9.98, "fifo", noise=0)])
    assert found.tied == ("fifo",)


def test_equal_on_average_is_not_equal_in_every_domain():
    told = [Difference(Estimate(0.0, half, 0.95, 3, 4, "both"), (0, 1, 2)) for half in (0.0, 1.0)]
    assert answering.compare("fps", told[0], "cds") == "fps is equal to cds in every domain"
    assert answering.compare("fps", told[1], "cds") == "fps cannot be told from cds (+0.0 ± 1.0)"


def test_the_usual_rates_speak_first_and_best_ones_are_corrected_for_their_number(monkeypatch):
    monkeypatch.setattr(
        rates,
        "best_rates",
        lambda: dict.fromkeys([("norm", name) for name in ("fps", "cds", "running_statistics")], 0.2),
    )
    control = {"memory": "none", "control": "running_statistics"}
    usual = [*none(), *runs(10, method__rate=0.05), *runs(4, method__rate=0.05, **control)]
    best = [*runs(20, noise=2, method__rate=0.2), *runs(6, noise=0, method__rate=0.2, **control)]
    (found,) = findings([*usual, *best])
    assert (found.best, found.accuracy) == ("fps", pytest.approx(67.5))
    assert "each at its best rate, fps (0.2) is 14.0 ±" in found.at_best_rates
    (more,) = findings([*usual, *best, *runs(8, "cds", method__rate=0.05), *runs(12, "cds", method__rate=0.2)])
    alone, of_two = (float(one.at_best_rates.split("± ")[1].split()[0]) for one in (found, more))
    assert of_two > alone
