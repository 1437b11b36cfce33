"""Who wins against whom."""

from made_figures import composed
from made_runs import made, panel_of

from gotta.report.tables.matrix import Outcomes, matrix_table, win_tie_loss


def test_wins_ties_and_losses_over_methods_and_streams():
    def column(method, seed, gain):
        base = (50.0, 60.0, 55.0, 65.0)
        noisy = tuple(score + gain + noise for score, noise in zip(base, (0.1, -0.1, 0.2, -0.2), strict=True))
        return [made("none", method, base, seed), made("fps", method, noisy, seed)]

    runs = [*column("norm", 0, 5), *column("norm", 1, 0), *column("tent", 0, 5), *column("tent", 1, -5)]
    names, matrix = win_tie_loss(panel_of(runs))
    assert names == ["none", "fps"]
    assert matrix["fps", "none"] == Outcomes(2, 1, 1)
    assert matrix["none", "fps"] == Outcomes(1, 1, 2)
    assert [cell.number for cell in matrix_table(panel_of(runs)).rows[1].cells] == ["2/1/1", ""]


def test_runs_on_other_streams_play_no_game():
    runs = [made("none"), made("fps", scores=(90, 91, 92, 93), stream_hash="another")]
    assert win_tie_loss(panel_of(runs))[1]["fps", "none"] == Outcomes(0, 0, 0)


def test_names_of_the_matrix_are_those_of_the_table_though_not_all_are_in_it():
    panel = composed(lambda a, b: a)
    names, matrix = win_tie_loss(panel, only={"composed evict=e4 admit=a0", "composed evict=e4 admit=a1"})
    assert names == ["composed evict=e4 admit=a0", "composed evict=e4 admit=a1"]
    assert len(matrix) == 2
