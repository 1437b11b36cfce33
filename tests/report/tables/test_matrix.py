"""Who wins against whom."""

from made_runs import made, panel_of

from gotta.report.tables.gains import matrix_table

BASE = (50.0, 60.0, 55.0, 65.0)


def column(method, gain):
    noise = (0.1, -0.1, 0.2, -0.2)
    noisy = tuple(score + gain + wobble for score, wobble in zip(BASE, noise, strict=True))
    return [
        made(memory, method, scores, seed) for memory, scores in (("none", BASE), ("fps", noisy)) for seed in (0, 1)
    ]


def test_wins_ties_and_losses_over_methods():
    panel = panel_of([*column("norm", 5), *column("tent", 0), *column("note", 5), *column("sar", -5)])
    table = matrix_table(panel)
    assert table.columns == ("none", "fps")
    assert [[cell.number for cell in row.cells] for row in table.rows] == [["", "1/1/2"], ["2/1/1", ""]]


def test_what_is_nothing_but_ties_says_nothing():
    assert matrix_table(panel_of(column("norm", 0))).rows == ()


def test_runs_on_other_streams_and_too_few_of_them_play_no_game():
    other = [made("none", "tent"), made("fps", "tent", scores=(90, 91, 92, 93), stream_hash="another")]
    few = [made("none", "tent"), made("fps", "tent", scores=(90, 91, 92, 93))]
    for runs in (other, few):
        table = matrix_table(panel_of([*column("norm", 5), *runs]))
        assert table.rows[1].cells[0].number == "1/0/0"
