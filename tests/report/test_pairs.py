"""Only runs on the same stream are subtracted."""

import pytest
from made_runs import made

from gotta.report.pairs import difference, same_stream, scores
from gotta.report.tables.matrix import Outcomes, matrix_table, win_tie_loss


def test_a_difference_is_taken_domain_by_domain_and_seed_by_seed():
    ours = [made(scores=(51, 62, 73, 84), seed=0), made(scores=(52, 63, 74, 85), seed=1)]
    base = [made("none", scores=(50, 60, 70, 80), seed=1), made("none", scores=(50, 60, 70, 80), seed=0)]
    found = difference(ours, base)
    assert found.seeds == (0, 1)
    assert found.refused == ()
    assert found.estimate.mean == pytest.approx((1 + 2 + 3 + 4 + 2 + 3 + 4 + 5) / 8)
    assert (found.estimate.seeds, found.estimate.domains) == (2, 4)


def test_other_streams_are_refused():
    ours = [made(seed=0), made(seed=1)]
    base = [made("none", seed=0), made("none", seed=1, stream_hash="another")]
    found = difference(ours, base)
    assert found.seeds == (0,)
    assert found.refused == ("seed 1: the streams differ",)
    nothing = difference(ours[1:], base[1:])
    assert nothing.estimate is None
    assert not nothing.distinguishable


def test_a_seed_that_only_one_has_is_said():
    found = difference([made(seed=0), made(seed=2)], [made("none", seed=0)])
    assert found.refused == ("seed 2: only one of the two was run",)


def test_cuts_do_not_matter_but_data_do():
    cut = made(regime__batch_size=64)
    cut.summary["stream"]["hash"] = "other cuts"
    assert same_stream(made(), cut)
    assert not same_stream(made(), made(data__name="cifar10"))


def test_runs_without_the_hash_of_the_order_are_told_by_hash_and_spec():
    old, new, other = made("none"), made("fps"), made("fps", stream__gamma=0.5)
    for run in (old, new, other):
        del run.summary["stream"]["order_hash"]
        run.summary["stream"]["hash"] = run.id
    assert same_stream(old, new)
    assert not same_stream(old, other)
    old.summary["stream"]["hash"] = other.summary["stream"]["hash"]
    assert same_stream(old, other)


def test_other_domains_are_refused():
    found = difference([made()], [made("none", scores=(1.0, 2.0))])
    assert found.refused == ("seed 0: the domains differ",)


def test_a_domain_visited_again_is_another():
    run = made()
    run.summary["online"]["domains"][1]["name"] = "fog-5"
    assert list(scores(run)) == ["fog-5", "fog-5 (2)", "frost-5", "glass_blur-5"]


def test_wins_ties_and_losses_over_methods_and_streams():
    def column(method, seed, gain):
        base = (50.0, 60.0, 55.0, 65.0)
        noisy = tuple(score + gain + noise for score, noise in zip(base, (0.1, -0.1, 0.2, -0.2), strict=True))
        return [made("none", method, base, seed), made("fps", method, noisy, seed)]

    runs = [*column("norm", 0, 5), *column("norm", 1, 0), *column("tent", 0, 5), *column("tent", 1, -5)]
    names, matrix = win_tie_loss(runs)
    assert names == ["none", "fps"]
    assert matrix["fps", "none"] == Outcomes(2, 1, 1)
    assert matrix["none", "fps"] == Outcomes(1, 1, 2)
    assert [cell.number for cell in matrix_table(runs).rows[1].cells] == ["2/1/1", ""]


def test_runs_on_other_streams_play_no_game():
    runs = [made("none"), made("fps", scores=(90, 91, 92, 93), stream_hash="another")]
    assert win_tie_loss(runs)[1]["fps", "none"] == Outcomes(0, 0, 0)
