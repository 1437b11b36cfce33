"""Where it pays, as heat maps."""

from itertools import product

import pytest
from made_figures import words
from made_runs import made, panel_of

from gotta.report.figures.drawing import Box
from gotta.report.figures.heat import ABOVE, BELOW, gain_maps, heat_figures, stream_axes
from gotta.report.rows import NO_MEMORY, Column, Row

FPS = Row("memory", "fps"), Column("norm")
BARE, DESKEW = ((NO_MEMORY, column) for column in (Column("deskew"), Column("deskew", "sticky", uses_order=True)))
STICKY = {"method__prior": "sticky", "method__labels": "filtered", "method__order_in_batch": "time"}


def runs(gammas=(0.1,), lengths=(1.0, 10.0, 50.0), sizes=(10, 30)):
    """The control has 50 and at its better rate 60; FPS is 4 below that at its better rate; deskew 20 above."""
    found = []
    for gamma, length, size in product(gammas, lengths, sizes):
        where = {"stream__gamma": gamma, "stream__run_length": length, "stream__per_class": size}
        for rate, score in ((0.05, 50.0), (0.2, 60.0)):
            found.append(made("none", control="running_statistics", scores=(score,) * 4, method__rate=rate, **where))
            found.append(made("fps", scores=(score - 4,) * 4, method__rate=rate, **where))
        extra = {"method__statistics": "class", **where}
        found.append(made("none", "deskew", scores=(80.0 + length,) * 4, **extra, **STICKY))
        found.append(made("none", "deskew", scores=(61.0,) * 4, method__prior="none", **extra))
    return found


def test_the_axes_are_the_numbers_of_the_stream_that_vary():
    assert stream_axes(runs((0.1, 100.0))) == ["stream.run_length", "stream.gamma", "stream.per_class"]
    assert stream_axes([made()]) == []


def test_the_best_rate_of_each_stream_counts_on_both_sides():
    maps = gain_maps(runs(), ["stream.run_length", "stream.per_class"])
    assert set(maps) == {FPS, BARE, DESKEW}
    assert set(maps[FPS].values()) == {-4.0}
    assert maps[DESKEW][10.0, 30.0] == 30.0
    assert set(maps[BARE].values()) == {1.0}


def test_what_lacks_its_control_is_left_out():
    found = [run for run in runs() if not (run.spec.control and run.settings["stream.per_class"] == 10)]
    assert {place[1] for place in gain_maps(found, ["stream.run_length", "stream.per_class"])[FPS]} == {30.0}


def test_numbers_and_colours_say_which_way():
    figures = {figure.method: figure for figure in heat_figures(panel_of(runs()))}
    assert len(figures) == 3
    fps, deskew = figures["norm + fps"], figures["deskew with sticky prior"]
    assert words(fps).count("-4.0") == 6
    assert {mark.colour for mark in fps.drawing.marks if isinstance(mark, Box)} == {BELOW}
    assert {mark.colour for mark in deskew.drawing.marks if isinstance(mark, Box)} == {ABOVE}
    shades = [mark.opacity for mark in deskew.drawing.marks if isinstance(mark, Box)]
    assert max(shades) == pytest.approx(0.56)
    assert "use the order of samples" in deskew.caption
    assert "order" not in fps.caption
    assert (
        deskew.drawing.words
        == "Most: +70.0 at run length 50, per class 10. Least: +21.0 at run length 1, per class 10."
    )


def test_a_third_number_has_a_map_for_each_value():
    (figure, *_) = heat_figures(panel_of(runs((0.1, 100.0), sizes=(10, 30, 100))))
    assert "gamma 0.1" in words(figure)
    assert "gamma 100" in words(figure)
    assert sum(isinstance(mark, Box) for mark in figure.drawing.marks) == 18
    assert figure.drawing.width <= 780


def test_one_number_or_two_data_sets_give_no_map():
    assert heat_figures(panel_of(runs(sizes=(10,)))) == []
    other = [made("none", control="running_statistics", data__name="cifar10_c")]
    assert heat_figures(panel_of(runs() + other)) == []
