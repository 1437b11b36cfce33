"""What memories hold, as a picture."""

import numpy as np

from gotta.report.figures.drawing import Box, Shape, Text
from gotta.report.memory_picture import draw_held

POINTS = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [3.0, 1.0], [4.0, 9.0]])


def test_each_memory_has_a_panel_and_copies_are_counted():
    drawing = draw_held(POINTS, np.array([0, 0, 0, 1, 1]), {"FIFO": [0, 1, 4], "FPS": [2, 3, 4]}, ["cat", "dog"])
    words = [mark.text for mark in drawing.marks if isinstance(mark, Text)]
    assert {"cat", "dog", "FIFO", "FPS", "3 rows, 2 different", "3 rows, 3 different", "2"} <= set(words)
    panels = [mark for mark in drawing.marks if isinstance(mark, Box)]
    assert len(panels) == 2
    assert drawing.words == "FIFO holds 2 different samples; FPS holds 3 different samples."
    inside = [mark for mark in drawing.marks if isinstance(mark, Shape)]
    for mark in inside:
        assert all(0 <= x <= drawing.width and 0 <= y <= drawing.height for x, y in mark.points)
