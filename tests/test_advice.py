"""What gotta advise says, by network, class runs, batch size and budget."""

import pytest
from torch import nn

from gotta import advice
from gotta.advice import Line, Situation, advise, measured, name_layers
from gotta.errors import GottaError
from gotta.models import load

SOURCE = Line({"method": "source"}, 40.0, 1.0)
CHEAP = Line({"method": "deskew", "prior": "none"}, 69.5, 1.0)
DEAR = Line({"method": "sar"}, 70.0, 4.0)
ORDERED = Line({"method": "deskew"}, 90.0, 1.0)


def situation(*lines, layers="BatchNorm", run_length=20.0, batch_size=64):
    return Situation(layers, run_length, batch_size, (SOURCE, *lines))


def test_the_cheapest_within_a_point_of_the_best_is_chosen():
    assert situation(DEAR, CHEAP).choose() is CHEAP
    better = Line({"method": "sar"}, 71.0, 4.0)
    assert situation(better, CHEAP).choose() is better
    assert situation(better, CHEAP).choose(budget=2) is CHEAP


def test_the_network_as_it_is_comes_before_what_costs_the_same_and_gains_less_than_a_point():
    assert situation(Line({"method": "cache"}, 40.9, 1.0)).choose() is SOURCE
    assert situation(Line({"method": "cache"}, 41.1, 1.0)).choose() is not SOURCE


def test_lines_that_use_the_order_of_samples_can_be_left_out():
    assert situation(CHEAP, ORDERED).choose() is ORDERED
    assert situation(CHEAP, ORDERED).choose(order=False) is CHEAP
    assert ORDERED.uses_order
    assert Line({"method": "source", "prior": "sticky"}, 1.0, 1.0).uses_order
    assert not CHEAP.uses_order


def test_a_call_can_be_pasted():
    assert ORDERED.call == "gotta.adapt(net)"
    line = Line({"method": "norm", "statistics": "running", "rate": 0.1}, 1.0, 2.0)
    assert line.call == 'gotta.adapt(net, method="norm", statistics="running", rate=0.1)'
    line = Line({"method": "rotta", "memory": "fps", "capacity": 64}, 1.0, 5.0)
    assert line.call == 'gotta.adapt(net, method="rotta", memory="fps", capacity=64)'


@pytest.fixture
def known(monkeypatch):
    """Every kind of layers at two lengths and two sizes."""
    found = tuple(
        situation(CHEAP, ORDERED, layers=layers, run_length=length, batch_size=size)
        for layers in ("BatchNorm", "GroupNorm", "LayerNorm")
        for length in (1.1, 20.0)
        for size in (64, 1)
    )
    on = {"models": ["net"], "data": "made", "domains": ["snow"], "severity": 5, "images": 10, "seeds": 1}
    monkeypatch.setattr(advice, "measured", lambda: (on, found))


@pytest.mark.parametrize(
    ("length", "size", "nearest"),
    [(1.0, 64, (1.1, 64)), (9.0, 64, (20.0, 64)), (500.0, 16, (20.0, 64)), (3.0, 4, (1.1, 1)), (50, 1, (20.0, 1))],
)
def test_the_nearest_situation_is_told(known, length, size, nearest):
    (found,) = advise(load("resnet20"), length, size).situations
    assert (found.layers, found.run_length, found.batch_size) == ("BatchNorm", *nearest)


def test_without_a_run_length_streams_with_and_without_runs_are_told(known):
    told = advise(load("resnet20-gn"))
    assert [found.run_length for found in told.situations] == [1.1, 20.0]
    assert {found.layers for found in told.situations} == {"GroupNorm"}
    assert "uses the order of samples" in str(told)


def test_a_method_without_effect_on_this_network_is_not_advised(monkeypatch):
    line = Line({"method": "norm", "statistics": "batch"}, 99.0, 1.0)
    on = {"models": ["net"], "data": "made", "domains": ["snow"], "severity": 5, "images": 10, "seeds": 2}
    monkeypatch.setattr(advice, "measured", lambda: (on, (situation(line, CHEAP, layers="GroupNorm"),)))
    (found,) = advise(load("resnet20-gn")).situations
    assert line not in found.lines
    bare = advise(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)))
    assert bare.layers == "no normalisation layers"
    assert line not in bare.situations[0].lines


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"run_length": 0.5}, "run_length must be a number of at least 1"),
        ({"run_length": float("nan")}, "run_length"),
        ({"batch_size": 0}, "batch_size"),
        ({"budget": -1}, "budget"),
    ],
)
def test_numbers_that_make_no_sense_are_one_error(given, complaint):
    with pytest.raises(GottaError, match=complaint):
        advise(load("resnet20"), **given)


def test_layers_are_named():
    assert [name_layers(load(name)) for name in ("resnet20", "resnet20-gn", "vit-mini")] == [
        "BatchNorm",
        "GroupNorm",
        "LayerNorm",
    ]
    assert name_layers(nn.Linear(2, 2)) == ""


def test_what_comes_with_the_package_covers_every_kind_of_network():
    on, situations = measured()
    assert on["images"] >= 1000
    for layers in ("BatchNorm", "GroupNorm", "LayerNorm"):
        here = [found for found in situations if found.layers == layers]
        assert len({found.run_length for found in here}) == 2
        assert {found.batch_size for found in here} == {64, 1}
        assert all(found.source > 0 for found in here)
