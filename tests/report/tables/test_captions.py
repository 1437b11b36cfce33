"""The lines that say which set-up a table shows."""

from made_runs import panel_of
from made_tables import run

from gotta.report.tables.captions import environment_lines, setup_lines


def lines(*runs):
    return setup_lines(panel_of(runs))


def test_the_caption_says_the_set_up():
    caption = lines(run(), run(seed=3))
    assert caption == [
        "Data: cifar10-mini; images per domain: 250.",
        "Model: resnet20.",
        "Stream: order dirichlet, gamma 0.1, schedule continual, severity 5.",
        "Memory: capacity 32; pairing: paper.",
        "Regime: steps_of_M, batch_size 32, adapt_every 32, reset never, score before, clock none.",
        "Seeds: 0, 3.",
        "Settings of each method: norm (embedding probs).",
    ]


def test_what_differs_is_several():
    other = run("fifo", pairing="memory", stream__order="iid", model__name="vit", memory__capacity=64)
    caption = lines(run(), other)
    assert "Memory: capacity several (32, 64); pairing: several (paper, memory)." in caption
    assert "Model: several (resnet20, vit)." in caption
    assert "Stream: order several (dirichlet, iid), gamma 0.1, schedule continual, severity 5." in caption


def test_settings_that_differ_between_cells_are_several_as_well():
    assert any("adapt_every several (32, 64)" in line for line in lines(run(), run("none", regime__adapt_every=64)))


def test_unusual_settings_of_a_stream_are_told_and_long_lists_shortened():
    caption = lines(run(stream__domains=[f"d{i}" for i in range(15)]))
    assert "Stream: order dirichlet, gamma 0.1, schedule continual, domains d0 ... d14 (15), severity 5." in caption


def test_settings_of_methods_and_memories_are_listed():
    caption = lines(run(method__rate=0.05, memory__arguments={"epsilon": 0.1}))
    assert "Settings of each method: norm (rate 0.05, embedding probs)." in caption
    assert "Settings of each memory: fps (arguments.epsilon 0.1)." in caption


def test_no_runs_have_no_set_up():
    assert lines() == []
    assert environment_lines(panel_of([])) == []


def test_the_environment_is_told_entry_by_entry():
    assert environment_lines(panel_of([run(), run(seed=1)])) == ["python: 3.11.7"]
