"""A walk from corruption to corruption."""

from itertools import pairwise

import numpy as np
import pytest
from streams.fake_data import FakeDataset, balanced

from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec
from gotta.streams.schedule import walk
from gotta.types import pair_name, read_pair

KINDS = ("snow", "fog", "frost")
NAMES = [pair_name(a, 1 - s, b, s) for a in KINDS for b in KINDS if a != b for s in (0, 0.5, 1)]


def ends(visits):
    pairs = [read_pair(name) for (name,) in visits]
    return [(first, second) for (first, _), (second, _) in pairs[::3]]


def test_each_transition_begins_where_the_last_one_ended():
    visits = walk(NAMES, seed=0, transitions=20)
    assert len(visits) == 60
    way = ends(visits)
    assert all(before[1] == after[0] for before, after in pairwise(way))
    assert {first for first, _ in way} == set(KINDS)
    assert [name for (name,) in visits[:3]] == [
        name for name in NAMES if read_pair(name)[0][0] == way[0][0] and read_pair(name)[1][0] == way[0][1]
    ]


def test_the_seed_decides_where_it_goes_and_eight_transitions_are_usual():
    assert walk(NAMES, 0) == walk(NAMES, 0) != walk(NAMES, 1)
    assert len(walk(NAMES, 0)) == 24


def test_what_cannot_be_walked_is_told():
    with pytest.raises(GottaError, match="needs domains of two corruptions, got 'snow-5'"):
        walk(["snow-5"], 0)
    with pytest.raises(GottaError, match="came to 'fog', and no path leaves it"):
        walk(["snow-1+fog-0", "snow-0+fog-1"], 0)
    with pytest.raises(GottaError, match="transitions=3 is for schedule 'walk', not 'continual'"):
        Stream(FakeDataset(balanced(2, 2)), StreamSpec(transitions=3))
    with pytest.raises(GottaError, match=r"transitions must be a whole number of at least 1 \(got 0\)"):
        Stream(FakeDataset(balanced(2, 2), NAMES), StreamSpec(schedule="walk", transitions=0))


def test_images_are_drawn_anew_for_every_visit():
    data = FakeDataset(balanced(2, 50), NAMES)
    settings = {"order": "iid", "schedule": "walk", "domain_order": "dataset", "limit": 10, "transitions": 2}
    anew, same = (Stream(data, StreamSpec(**settings, choose=choose)) for choose in ("anew", "random"))
    shown = [[set(flow.index[flow.domain == visit].tolist()) for visit in range(6)] for flow in (anew, same)]
    assert all(len(images) == 10 for flow in shown for images in flow)
    assert len({frozenset(images) for images in shown[0]}) == 6
    assert len({frozenset(images) for images in shown[1]}) == 1
    assert shown[0][0] == shown[1][0]
    assert np.array_equal(Stream(data, StreamSpec(**settings, choose="anew")).index, anew.index)
