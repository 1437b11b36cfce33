"""Accuracy against capacity and epsilon."""

from made_figures import words
from made_runs import made, panel_of

from gotta.report.cells import Cell
from gotta.report.figures.scaling import best, capacity_figures, epsilon_figures


def test_lines_come_in_the_order_of_the_tables():
    runs = [made(memory, memory__capacity=size) for memory in ("fps", "cds", "fifo") for size in (8, 16)]
    (figure,) = capacity_figures(panel_of(runs))
    assert [text for text in words(figure) if text in ("fifo", "cds", "fps")] == ["fifo", "cds", "fps"]


def test_the_best_epsilon_is_starred_unless_all_are_alike():
    runs = [
        made("fps", scores=(50.0 + gain,) * 4, memory__arguments={"epsilon": e}) for e, gain in ((0.1, 0), (0.2, 3))
    ]
    flat = [made("cds", memory__arguments={"epsilon": epsilon}) for epsilon in (0.1, 0.2)]
    (figure,) = epsilon_figures(panel_of([*runs, *flat]))
    assert words(figure).count("53.0") == 1  # beside the one star
    assert figure.drawing.words == "cds is alike everywhere with 53.0; fps is best at 0.2 with 53.0."


def test_a_line_that_does_not_move_has_no_best():
    assert best({0.1: Cell(50.0), 0.2: Cell(50.04)}) == []
    assert best({0.1: Cell(50.0), 0.2: Cell(52.0), 0.3: Cell(51.96)}) == [0.2, 0.3]
    flat = [made("fps", memory__arguments={"epsilon": e}) for e in (0.1, 0.2)]
    (figure,) = epsilon_figures(panel_of(flat))
    assert figure.drawing.words == "fps is alike everywhere with 53.0."
    on_axis = {text for text in words(figure) if text.startswith(("52", "53"))}
    assert max(map(len, on_axis)) <= 4  # no axis of thousandths
