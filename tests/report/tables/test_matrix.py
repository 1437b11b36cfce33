"""Who wins against whom."""

from made_figures import composed
from made_runs import made, panel_of

from gotta.report.rows import NO_MEMORY, Row
from gotta.report.tables.matrix import Outcomes, matrix_table, win_tie_loss

FPS = Row("memory", "fps")
BASE = (50.0, 60.0, 55.0, 65.0)


def column(method, gain):
    noise = (0.1, -0.1, 0.2, -0.2)
    noisy = tuple(score + gain + wobble for score, wobble in zip(BASE, noise, strict=True))
    return [
        made(memory, method, scores, seed) for memory, scores in (("none", BASE), ("fps", noisy)) for seed in (0, 1)
    ]


def test_wins_ties_and_losses_over_methods():
    panel = panel_of([*column("norm", 5), *column("tent", 0), *column("note", 5), *column("sar", -5)])
    names, matrix = win_tie_loss(panel)
    assert names == [NO_MEMORY, FPS]
    assert matrix[FPS, NO_MEMORY] == Outcomes(2, 1, 1)
    assert matrix[NO_MEMORY, FPS] == Outcomes(1, 1, 2)
    assert [cell.number for cell in matrix_table(panel).rows[1].cells] == ["2/1/1", ""]


def test_what_is_nothing_but_ties_says_nothing():
    assert matrix_table(panel_of(column("norm", 0))).rows == ()


def test_runs_on_other_streams_and_too_few_of_them_play_no_game():
    other = [made("none"), made("fps", scores=(90, 91, 92, 93), stream_hash="another")]
    few = [made("none"), made("fps", scores=(90, 91, 92, 93))]
    for runs in (other, few):
        assert win_tie_loss(panel_of(runs))[1][FPS, NO_MEMORY] == Outcomes(0, 0, 0)


def test_rows_of_the_matrix_are_those_of_the_table_though_not_all_are_in_it():
    panel = composed(lambda a, b: a)
    names, matrix = win_tie_loss(panel, only=panel.rows[:2])
    assert names == list(panel.rows[:2])
    assert len(matrix) == 2
