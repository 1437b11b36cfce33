"""Who wins against whom, in squares."""

from made_figures import words
from made_runs import made, panel_of

from gotta.report.figures.drawing import Box
from gotta.report.figures.wins import win_figures


def test_a_tie_has_no_colour():
    scores = {"fifo": (50.0, 52.0, 54.0, 56.0), "fps": (50.0, 52.0, 54.0, 56.0), "cds": (90.0, 92.0, 94.5, 96.0)}
    runs = [made(memory, scores=found, seed=seed) for memory, found in scores.items() for seed in (0, 1)]
    (figure,) = win_figures(panel_of(runs))
    squares = [mark for mark in figure.drawing.marks if isinstance(mark, Box) and mark.border]
    counts = [text for text in words(figure) if "/" in text]
    assert sorted(counts) == ["0/0/1", "0/0/1", "0/1/0", "0/1/0", "1/0/0", "1/0/0"]
    assert [square.opacity == 0 for square in squares] == [text == "0/1/0" for text in counts]


def test_counts_of_wins_have_room_beside_long_names():
    runs = [
        made("composed", scores=(50.0 + 9 * k,) * 4, seed=seed, memory__arguments={"evict": f"{k:050}"})
        for k in range(12)
        for seed in (0, 1)
    ]
    (figure,) = win_figures(panel_of(runs))
    squares = [mark for mark in figure.drawing.marks if isinstance(mark, Box)]
    assert min(square.width for square in squares) >= 30
    assert figure.caption.endswith(" of 12 rows.")
