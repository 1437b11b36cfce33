"""Distances, which samples are far or copies, and jumps: of one or two channels, written by hand."""

import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import adapt
from gotta.statistics.levels.look import (
    Level,
    Sight,
    distance,
    expected_moments,
    find_repeated,
    is_far,
    join_layers,
    jump,
    mean_distance,
    measure_newness,
    single_distances,
)


def level(mean=0.0, var=1.0, noise=0.1, offset=0.0, square=1.0):
    return Level(*(torch.tensor(part).float() for part in ([mean], [var], [[noise], [noise]], [[offset], [square]])))


def moments(mean, square):
    return torch.tensor([[mean], [square]]).float()


def test_a_distance_is_in_units_of_the_level_and_of_noise():
    assert distance(moments(0.0, 1.0), level()) == 0
    assert distance(moments(1.0, 2.0), level()) == pytest.approx((1 + 1) / 2 / 0.1)
    # mean 3 and var 4: the sample is half a unit off, and its mean square about the level is that of the level
    assert distance(moments(4.0, 4.0 + 16 - 1), level(3.0, 4.0)) == pytest.approx(0.25 / 2 / 0.1)
    assert distance(moments(0.5, 0.5), level(offset=0.5, square=0.5)) == 0


def test_what_a_level_expects_is_at_no_distance_from_it():
    held = level(3.0, 4.0, offset=0.5, square=1.5)
    assert distance(torch.cat(expected_moments(held)), held) == pytest.approx(0, abs=1e-9)


def test_in_the_mean_distance_no_channel_counts_for_more_than_four():
    rows = torch.tensor([[9.0, 0.0], [1.0, 1.0]])
    held = Level(torch.zeros(2), torch.ones(2), torch.full((2, 2), 0.1), torch.tensor([[0.0, 0.0], [1.0, 1.0]]))
    assert mean_distance(rows, join_layers([held])) == pytest.approx(4 / 4)
    both = torch.cat([rows, rows[:, 1:]], 1)
    assert mean_distance(both, join_layers([held, level()])) == pytest.approx((4 / 4 + 0) / 2)


def test_noise_below_a_hundredth_is_taken_for_that():
    rows = torch.tensor([[0.1], [1.0]])
    assert mean_distance(rows, join_layers([level(noise=1e-4)])) == pytest.approx(0.01 / 0.01 / 2)


def off_by(*values):
    """Samples whose mean is off by so much, in units of noise."""
    first = torch.tensor(values)[:, None]
    return torch.stack([first, torch.ones_like(first)])


def far(moments, held=None):
    off = single_distances(moments, join_layers([level(noise=1.0) if held is None else held]))
    return is_far(off, off)


def test_a_sample_is_far_where_the_nearest_are_near():
    assert far(off_by(*[0.1] * 9, 4.0)).tolist() == [False] * 9 + [True]  # 16 / 2 > 4
    assert not far(off_by(*[0.1] * 9, 2.7)).any()  # 7.3 / 2 < 4
    assert not far(off_by(*[3.0] * 9, 5.0)).any()  # 25 / 2 < 3 * 9 / 2
    assert far(off_by(*[2.0] * 9, 4.9)).tolist() == [False] * 9 + [True]  # 24 / 2 > 3 * 4 / 2
    assert not far(off_by(0.1, *[4.0] * 9)).any()  # a single near one is no tenth
    assert far(off_by(*[0.1] * 2, *[4.0] * 8)).tolist() == [False] * 2 + [True] * 8


def test_one_channel_of_one_sample_counts_for_at_most_25():
    many = torch.zeros(2, 10, 5)
    many[1] = 1
    many[0, 9, 0] = 1e6  # of ten numbers one is 25, so the mean is 2.5
    held = Level(torch.zeros(5), torch.ones(5), torch.ones(2, 5), torch.stack([torch.zeros(5), torch.ones(5)]))
    assert not far(many, held).any()


def test_newness_is_one_of_draws_and_little_of_a_slow_movement():
    draws = torch.randn(2, 2000, 3, generator=torch.Generator().manual_seed(0))
    assert measure_newness(draws) == pytest.approx(1, abs=0.05)
    assert measure_newness(draws.cumsum(1)) < 0.1
    assert measure_newness(torch.ones(2, 20, 3)) == 1  # of equal ones nothing is known
    assert measure_newness(torch.tensor([[[0.0], [1], [0], [1]]] * 2)) == pytest.approx(2)


def jump_to(held, mean, square, number=10**9, skew=0.0, depth=0.0, least=0.01):
    found = jump(held, moments(mean, square), number, skew, depth, torch.tensor([least]))
    return float(found.mean), float(found.var)


def way(held, mean, square, doubt):
    return 1 - doubt / distance(moments(mean, square), held)


def test_a_jump_goes_all_the_way_but_for_the_doubt():
    held = level()
    far = way(held, 2.0, 13.0, 0.1)
    assert jump_to(held, 2.0, 13.0) == pytest.approx((2 * far, 9**far))


@pytest.mark.parametrize(
    ("settings", "doubt"),
    [
        ({"number": 4}, 0.1 + 1 / 4),
        ({"skew": 0.5}, 0.1 + 0.6 * 0.5),
        ({"skew": 0.5, "depth": 1.0}, 0.1 + (0.6 + 6) * 0.5),
        ({"depth": 1.0}, 0.1),
    ],
)
def test_doubt_grows_with_chance_and_skew_and_for_the_latter_with_depth(settings, doubt):
    held = level()
    far = way(held, 1.0, 5.0, doubt)
    assert jump_to(held, 1.0, 5.0, **settings) == pytest.approx((far, 4**far))


def test_what_is_no_farther_than_the_doubt_moves_nothing():
    assert jump_to(level(3.0, 4.0), 3.0, 13.0) == (3.0, 4.0)
    assert jump_to(level(), 0.1, 1.0, skew=1.0, depth=1.0) == (0.0, 1.0)


def test_what_the_classes_explain_is_no_part_of_the_new_level():
    """Classes that are off by half a unit and have 1.25 of the mean square have the variance of the level itself."""
    held = level(offset=0.5, square=1.25)
    far = way(held, 12.0, 144.0 + 4.0, 0.1)  # variance 4, so the level is at 12 - 2 * 0.5
    assert jump_to(held, 12.0, 144.0 + 4.0) == pytest.approx((11 * far, 4**far))


def test_a_mix_of_classes_has_at_least_a_fifth_of_the_variance_and_a_level_some_of_the_sources():
    held = level(offset=1.0, square=1.0)  # no variance is left
    far = way(held, 9.0, 82.0, 0.1)
    assert jump_to(held, 9.0, 82.0) == pytest.approx(((9 - 5**0.5) * far, 5**far), rel=1e-5)
    held = level()
    far = way(held, 3.0, 9.0, 0.1)
    assert jump_to(held, 3.0, 9.0, least=0.25) == pytest.approx((3 * far, 0.25**far))


def test_a_sight_averages_several_calls_and_gives_rows_to_every_layer():
    sight = Sight(torch.zeros(3), torch.ones(3))
    first, again = (torch.ones(4, 2), torch.ones(4, 2)), (3 * torch.ones(4, 2), 5 * torch.ones(4, 2))
    assert sight.note(0, first)
    assert not sight.note(0, again)
    assert torch.equal(sight.moments[0][0], 2 * torch.ones(4, 2))
    assert torch.equal(sight.moments[0][1], 3 * torch.ones(4, 2))
    rows = sight.rows({1: level(7.0, 4.0)}, 4)  # a layer that was not called
    assert rows[:, :, 2].tolist() == [[7.0] * 4, [53.0] * 4]
    halves = sight.rows({1: level(7.0, 4.0)}, 8)  # rows that are not the samples
    assert torch.equal(halves[:, :, 0], torch.tensor([[2.0] * 8, [3.0] * 8]))


class Flat(nn.Module):
    """BatchNorm over the positions of all samples: its rows are not the samples."""

    def __init__(self, spare=False):
        super().__init__()
        self.spare, self.net = nn.BatchNorm2d(5) if spare else nn.Identity(), seeded_net()
        self.first = nn.Identity() if spare else nn.BatchNorm1d(3)

    def forward(self, x):
        rows = self.first(x.permute(0, 2, 3, 1).reshape(-1, 3))
        return self.net(rows.reshape(len(x), 8, 8, 3).permute(0, 3, 1, 2))


@pytest.mark.parametrize("spare", [True, False])
def test_a_first_layer_that_is_idle_or_has_other_rows_makes_no_samples_the_same(spare):
    model = adapt(Flat(spare).eval(), "deskew")
    for seed in range(3):
        model(torch.rand(20, 3, 8, 8, generator=torch.Generator().manual_seed(seed)))
    assert model.method.statistics.samples > 50


def test_copies_are_found_wherever_they_stand_and_however_many_are_compared_at_once(monkeypatch):
    rows = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    for at, like, error in ((7, 2, 0), (30, 5, 0), (31, 30, 1e-6), (39, 20, 1e-3)):
        rows[at] = rows[like] * (1 + error)
    whole = find_repeated(rows, 4)
    assert whole.nonzero().flatten().tolist() == [3, 26, 27]
    monkeypatch.setattr("gotta.statistics.levels.look.PAIRS", 1)
    assert torch.equal(find_repeated(rows, 4), whole)
