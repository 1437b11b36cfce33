"""The answer says no more than the runs."""

import random

import pytest
from made_runs import made, panel_of

from gotta.report import panel as panels
from gotta.report.answer import answer, overall, tell_difference
from gotta.report.pairs import Difference
from gotta.report.statistics import Estimate

BASE = (50.0, 60.0, 55.0, 65.0)
WOBBLE = ((1, 0.3, 0.5, -0.2), (-0.5, 0.2, -1, -0.3), (0.2, -0.6, 0.9, -0.5))  # adds up to nothing
CONTROL = {"memory": "none", "control": "running_statistics"}
STICKY = {"method__prior": "sticky"}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(panels, "best_rates", lambda: {("norm", "fps"): 0.2, ("norm", "running_statistics"): 0.1})


def runs(gain, memory="fps", method="norm", seeds=(0, 1, 2), noise=0.2, **changes):
    """A memory with this gain over BASE in each seed and domain, up to some noise."""
    return [
        made(
            memory,
            method,
            tuple(b + gain + noise * w for b, w in zip(BASE, WOBBLE[seed], strict=True)),
            seed,
            **changes,
        )
        for seed in seeds
    ]


def none(**options):
    return runs(0, "none", noise=0, **options)


def told(*groups):
    return answer(panel_of([run for group in groups for run in group]))


def finding(*groups):
    (found,) = told(*groups).findings
    return found


def test_the_headline_is_about_memories_with_the_interval():
    found = told(none(), runs(10), runs(4, "fifo"))
    assert found.headline.startswith("Best memory: fps for norm (67.5 %, 10.0 ± 0.")
    assert found.headline.endswith(" above no memory).")
    assert found.lines == ("Significantly better than every other memory: fps for norm.",)
    assert found.findings[0].gain.verdict == 1


def test_a_gain_within_the_noise_is_not_significant_and_a_loss_is_below():
    assert "not significantly different from no memory (+1.0 ± " in told(none(), runs(1, noise=5)).headline
    assert "8.0 ± 0.2 below no memory" in told(none(), runs(-8)).headline


def test_small_differences_are_named_and_wide_ones_undecided():
    found = told(none(), runs(10, noise=0.5), runs(9.9, "fifo", noise=-0.5), runs(2, "cds"))
    assert found.lines == ("Not significantly different from norm + fps: fifo.",)
    wide = told(none(), runs(10, noise=0), runs(7, "fifo", noise=20)).lines[0]
    assert wide.startswith("Undecided: 1 other memory (intervals up to ± ")
    assert wide.endswith("More seeds would tell.")


def test_two_domains_ask_for_more_of_them():
    few = [
        made(memory, scores=scores, seed=seed)
        for memory, scores in (("none", (30.0, 30.0)), ("fps", (70.0, 60.0)), ("fifo", (60.0, 68.0)))
        for seed in range(3)
    ]
    line = told(few).lines[-1]
    assert line == "Undecided: 1 other memory. More domains would tell."


@pytest.mark.parametrize(("seeds", "domains"), [(1, 4), (2, 2), (1, 1)])
def test_too_few_runs_are_said_once_with_the_command_that_would_tell(seeds, domains):
    few = [
        made(memory, scores=scores[:domains], seed=seed)
        for memory, scores in (("none", (39.0,) * 4), ("fps", (70.0,) * 4))
        for seed in range(seeds)
    ]
    for run in few:
        run.stored.recipe["name"] = "mini"
    found = told(few)
    (line,) = found.lines
    assert line.startswith("Too few to tell differences from chance")
    assert "gotta bench mini --seeds 0,1,2" in line
    assert "±" not in str(found)
    assert "31.0 above no memory" in found.headline


def test_running_statistics_without_a_memory_are_compared_with():
    found = told(none(), runs(10), runs(4, **CONTROL))
    assert "norm + fps is 6.0 ± " in found.lines[0]
    assert "above running statistics without a memory" in found.lines[0]
    equal = told(none(), runs(10), runs(10, **CONTROL)).lines[0]
    assert equal == "norm + fps is equal to running statistics without a memory in every domain."


def test_equal_on_average_is_not_equal_in_every_domain():
    gaps = [Difference(Estimate(0.0, half, (-half, half), 3, 4), (0, 1, 2)) for half in (0.0, 1.0)]
    assert tell_difference(gaps[0], "cds") == "equal to cds in every domain"
    assert tell_difference(gaps[1], "cds") == "not significantly different from cds (+0.0 ± 1.0)"


def in_steps_of_64(**options):
    return none(regime__batch_size=64, regime__adapt_every=None, **options)


def test_there_is_no_verdict_across_unequal_steps():
    assert (
        "; no memory has 57.5 %, not comparable: steps of 32 and 64 samples)."
        in told(in_steps_of_64(), runs(-10)).headline
    )
    assert finding(in_steps_of_64(), runs(10)).gain.verdict is None
    found = finding(runs(10), runs(9.9, "fifo", noise=3, regime__adapt_every=8))
    assert (any(gap.tied for gap in found.gaps.values()), found.stands_out) == (False, False)


def test_the_control_in_the_same_steps_stands_in_for_no_memory():
    same = runs(2, "none", control="same_samples", noise=0)
    assert "8.0 ± 0.2 above no memory at the same samples per step" in told(in_steps_of_64(), same, runs(10)).headline
    assert "same samples" not in told(none(), same, runs(10)).headline


def test_other_streams_give_no_claim():
    others = [made("fps", scores=(90,) * 4, seed=s, stream_hash=f"x{s}") for s in range(3)]
    assert "not comparable: seed 0: the streams differ" in told(none(), others).headline
    assert not finding(none(), runs(10), runs(2, "fifo", stream_hash="another")).stands_out


def test_several_methods_are_named_and_many_counted():
    two = told(none(), runs(10), none(method="tent"), runs(0.1, method="tent", noise=5))
    assert "; fps for tent (57.6 %, not significantly different" in two.headline
    methods = ("norm", "tent", "note", "sar")
    gains = [group for k, name in enumerate(methods) for group in (none(method=name), runs(10 - 9 * k, method=name))]
    assert told(*gains).headline == (
        "A memory is significantly better than none for 2 of 4 methods; most often the best: fps (4 of 4 methods)."
    )


def test_the_default_rates_speak_first_and_best_ones_stand_in_the_details():
    usual = [*none(), *runs(10, method__rate=0.05), *runs(4, method__rate=0.05, **CONTROL)]
    found = told(usual, runs(20, method__rate=0.2), runs(6, noise=0, method__rate=0.1, **CONTROL))
    assert found.headline.startswith("Best memory at the default rate: fps for norm (67.5 %")
    assert "each at its best rate, fps (0.2) is 14.0 ± " in found.details[0]
    assert "above that control (0.1)" in found.details[0]


def test_what_uses_the_order_is_named_apart_with_what_it_is_made_of():
    kind = {"method__statistics": "class"}
    deskew, alone = runs(30, "none", "deskew", **kind, **STICKY), runs(12, "none", **kind)
    found = told(none(), runs(3), deskew, alone, runs(5, **CONTROL))
    assert found.lines[-1] == (
        "Best of all 4 entries: deskew with sticky prior (87.5 %), which uses the order of samples."
    )
    assert "+18.0 ± 0.0 from the prior and +7.0 ± 0.0 from class statistics" in found.details[-1]
    assert told(deskew).lines[-1] == "Every entry uses the order of samples or the mix of a batch."
    assert told(deskew, alone).headline == "Best of 2 entries: deskew with sticky prior (87.5 %)."
    assert told(deskew, alone).lines[-1] == "Best without using the order of samples: norm + class statistics (69.5 %)."


def test_no_memory_is_compared_across_a_prior():
    assert told(none(), runs(10, **STICKY)).findings == ()


def test_without_memories_the_best_entry_is_told():
    found = told(runs(0, "none", "source"), runs(10, "none", "tent"), runs(4, "none"))
    assert found.headline.startswith("Best of 2 entries: tent (67.5 %), 10.0 ± ")
    assert told(runs(10)).headline == "The only entry: norm + fps (67.5 %)."
    assert told(runs(0, "none", "source")).headline == "Nothing to choose from: only the source model (57.5 %)."
    assert told().headline == "There are no finished runs."
    many = [runs(5, f"mine{k}", **STICKY) for k in range(5)]
    assert told(*many).headline == "First of 5 entries: 5 with the same number (62.5 %)."


def test_controls_and_the_source_model_do_not_win_but_are_told():
    found = told(runs(10), runs(1, "none"), runs(40, **CONTROL), runs(50, "none", "source"))
    assert found.headline.startswith("Best memory: fps")
    assert "Higher, but a control: norm + running statistics (97.5 %)." in found.lines[-1]
    assert found.lines[-1].endswith("Nothing reaches the source model (107.5 %).")


def test_what_has_no_effect_is_not_ranked():
    idle = runs(20, "fps", "tent", summary={"no_effect": "nothing to train"})
    assert [entry.column.method for entry in told(runs(0), idle).best] == ["norm"]


@pytest.mark.parametrize("seed", range(12))
def test_it_never_contradicts_the_table(seed):
    """Whatever was run, no ranked entry shows more than the best, and no sentence lists a name with a comma."""
    rng = random.Random(seed)
    found = []
    for method in rng.sample(["source", "norm", "tent", "deskew"], rng.randint(1, 4)):
        for memory in rng.sample(["none", "fifo", "fps", "cds"], rng.randint(1, 4)):
            prior = STICKY if rng.random() < 0.3 else {}
            level = rng.choice([50, 50.02, 60, 70])
            for k in range(rng.choice([1, 2, 3])):
                scores = [level + rng.choice([0, 0, 1]) for _ in range(rng.choice([1, 4]))]
                found.append(made(memory, method, scores, k, **prior))
    panel = panel_of(found)
    said = answer(panel)
    assert len(said.lines) <= 3
    ranked = [entry for entry in panel.entries if entry.is_ranked]
    assert not ranked or max(entry.mean for entry in ranked) <= max(entry.mean for entry in said.best)
    assert not [entry.name for entry in panel.entries if "," in entry.name]


def test_several_set_ups_are_counted_together():
    better, worse, unsure = (told(none(), runs(gain, noise=noise)) for gain, noise in ((10, 0.2), (-10, 0.2), (1, 5)))
    said = "A memory is significantly better than none in 1 of 3 comparisons over 3 set-ups."
    assert overall([better, worse, unsure]) == said
    assert overall([better]) == overall([]) == overall([told(runs(1))] * 2) == ""
