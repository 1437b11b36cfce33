"""The lines that say which set-up a table shows."""

from made_runs import panel_of
from made_tables import run

from gotta.report.tables.captions import environment_lines, setup_lines

RUNS = "classes in runs (order dirichlet, gamma 0.1)"
CONTINUAL = "one domain after the other (schedule continual)"


def lines(*runs):
    return setup_lines(panel_of(runs))


def test_the_caption_says_the_set_up_in_sentences():
    caption = lines(run(), run(seed=3))
    assert caption == [
        "Samples: 250 of cifar10-mini in each domain.",
        "Network: resnet20.",
        f"Stream: {RUNS}, {CONTINUAL}, severity 5.",
        "Memory: capacity 32; each method predicts as its authors have it (pairing paper).",
        "Steps: 32 samples; nothing is reset between domains (continual).",
        "Seeds: 0, 3.",
        "norm: predicts with the method's own statistics.",
    ]


def test_what_differs_is_named_with_its_values():
    other = run("fifo", pairing="memory", stream__order="iid", model__name="vit", memory__capacity=64)
    caption = lines(run(), other)
    memory = next(line for line in caption if line.startswith("Memory: capacity 32 or 64;"))
    assert "(pairing paper) or every method" in memory
    assert "Network: resnet20 or vit." in caption
    assert (f"Stream: {RUNS} or classes evenly mixed (order iid), {CONTINUAL}, severity 5.") in caption


def test_steps_of_several_sizes_depend_on_the_row():
    caption = lines(run(), run("none", regime__adapt_every=64))
    assert any(
        "Steps: 32 samples or 64 samples, predicted 32 at a time, depending on the row" in line for line in caption
    )


def test_a_reset_a_score_after_adapting_and_a_clock_are_told():
    caption = lines(run(regime__reset="each_domain", regime__score="after", regime__clock="analytic", regime__pace=2.0))
    told = "the model is reset at each domain (episodic), the prediction after adapting is scored"
    assert f"Steps: 32 samples; {told}, the stream does not wait (clock analytic, pace 2.0)." in caption


def test_limits_of_exposure_are_told():
    caption = lines(run(regime__expose_every=4, regime__expose_first=256))
    told = "the method may adapt to a part of the batches only (expose_every=4, expose_first=256)"
    assert f"Steps: 32 samples; nothing is reset between domains (continual), {told}." in caption


def test_unusual_settings_of_a_stream_are_told_and_long_lists_shortened():
    caption = lines(run(stream__domains=[f"d{i}" for i in range(15)]))
    assert f"Stream: {RUNS}, {CONTINUAL}, severity 5, domains d0 ... d14 (15)." in caption


def test_statistics_are_told_in_words_for_each_method():
    batch = run("none", method__statistics="batch")
    fed = run(method__statistics="running", method__fed_by="memory", method__rate=0.05)
    told = "running statistics that the memory moves (rate 0.05) or the statistics of the batch, depending on the row"
    assert f"norm: predicts with {told}." in lines(fed, batch)


def test_a_prior_is_told_in_words_and_its_settings_where_they_are_unusual():
    sticky = run("none", method__prior="sticky", method__labels="filtered", method__order_in_batch="time")
    told = "has a prior that expects the class of the last sample again (sticky)"
    assert f"norm: predicts with the method's own statistics; {told}." in lines(sticky)
    odd = run("none", method__prior="ema", method__labels="raw", method__order_in_batch="none")
    assert (
        "norm: predicts with the method's own statistics; has no prior or a prior that follows the last predictions "
        "(ema), depending on the row; memory and statistics go by the network's own prediction; the order inside a "
        "batch is not used." in lines(run(), odd)
    )


def test_an_order_is_told_with_what_it_reads_and_one_of_the_users_by_its_name():
    caption = lines(run(stream__order="runs", stream__run_length=20.0, stream__schedule="recurring", stream__repeats=3))
    assert (
        "Stream: classes in runs (order runs, gamma 0.1, run_length 20.0), domains that come again and again "
        "(schedule recurring, repeats 3), severity 5." in caption
    )
    assert any(
        line.startswith("Stream: order mine:zigzag, one domain") for line in lines(run(stream__order="mine:zigzag"))
    )


def test_other_settings_of_methods_and_memories_are_listed():
    caption = lines(
        run(method__embedding="logits", method__arguments={"preset": "tea"}, memory__arguments={"epsilon": 0.1})
    )
    assert "norm: predicts with the method's own statistics; compares samples by their logits; preset tea." in caption
    assert "fps: epsilon 0.1." in caption


def test_of_many_values_the_first_are_shown():
    runs = [run("fifo", memory__capacity=size) for size in (8, 16, 32, 64, 128, 256)]
    assert any(line.startswith("Memory: capacity 8, 16, 32, 64 or 2 others;") for line in lines(*runs))


def test_no_runs_have_no_set_up():
    assert lines() == []
    assert environment_lines(panel_of([])) == []


def test_the_environment_is_told_entry_by_entry():
    assert environment_lines(panel_of([run(), run(seed=1)])) == ["python: 3.11.7"]
