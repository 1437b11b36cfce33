"""Which batches may be adapted to, and that nothing is learned from the others."""

import numpy as np
import pytest
import torch
from tiny import TinyData, seeded_net

from gotta import GottaError, adapt
from gotta.core.exposure import Exposure
from gotta.core.loop import evaluate
from gotta.streams import Stream, StreamSpec

DOMAINS = ("clean", "dark-5", "bright-5")


def stream(**settings):
    return Stream(TinyData(), StreamSpec(domains=DOMAINS, batch_size=16, **settings))  # 3 x 60 samples: 12 batches


def model(method="tent", memory="fifo"):
    return adapt(seeded_net(classes=3), method, memory, None if memory == "none" else 8, num_classes=3)


def test_every_kth_batch_is_exposed_from_the_first_one_on():
    assert np.flatnonzero(Exposure(expose_every=5).steps(stream(), 0)).tolist() == [0, 5, 10]
    assert Exposure(expose_every=1).steps(stream(), 0).all()


def test_a_share_of_the_batches_is_drawn_by_the_seed():
    drawn = [Exposure(expose_share=0.5).steps(stream(), seed) for seed in (0, 0, 1)]
    assert [int(found.sum()) for found in drawn] == [6, 6, 6]
    assert np.array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2])
    assert Exposure(expose_share=0.001).steps(stream(), 0).sum() == 1


def test_the_first_samples_are_those_of_the_stream_or_of_each_domain_that_resets():
    assert np.flatnonzero(Exposure(expose_first=40).steps(stream(), 0)).tolist() == [0, 1]
    each = stream(reset_at_domain=True)  # four batches of each domain: 16, 16, 16, 12
    assert np.flatnonzero(Exposure(expose_first=40).steps(each, 0)).tolist() == [0, 1, 4, 5, 8, 9]
    assert Exposure(expose_first=60).steps(each, 0).all()


def test_limits_hold_together():
    assert np.flatnonzero(Exposure(expose_every=2, expose_first=64).steps(stream(), 0)).tolist() == [0, 2]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"expose_every": 0}, r"expose_every must be a whole number of at least 1 \(got 0\)"),
        ({"expose_every": True}, r"expose_every must be a whole number of at least 1 \(got True\)"),
        ({"expose_first": 2.5}, r"expose_first must be a whole number of at least 1 \(got 2.5\)"),
        ({"expose_share": 0}, r"expose_share must be a number above 0 and at most 1 \(got 0\)"),
        ({"expose_share": 1.5}, r"expose_share must be a number above 0 and at most 1 \(got 1.5\)"),
        ({"expose_share": float("nan")}, r"expose_share must be a number above 0 and at most 1 \(got nan\)"),
    ],
)
def test_wrong_limits_are_told(wrong, told):
    with pytest.raises(GottaError, match=told):
        Exposure(**wrong)


def test_limits_that_leave_nothing_to_adapt_to_are_told():
    with pytest.raises(GottaError, match=r"no batch of 16 samples may be adapted to with expose_first=15. Use"):
        Exposure(expose_first=15).steps(stream(), 0)


@pytest.mark.parametrize(
    ("method", "memory"), [("tent", "fifo"), ("norm", "none"), ("rotta", "fps"), ("deskew", "none")]
)
def test_a_batch_that_is_held_out_is_predicted_and_changes_nothing(method, memory):
    flow, adapted = stream(), model(method, memory)
    exposed = Exposure(expose_first=64).steps(flow, 0)
    records = evaluate(adapted, flow, exposed=exposed)
    seen = [next(records) for _ in range(4)]
    assert not any(record.missed for record in seen)
    state = {name: value.clone() for name, value in adapted.model.state_dict().items()}
    rows, offered = len(adapted.memory), adapted.offered
    held_out = list(records)
    assert len(held_out) == len(flow) - 4
    assert all(record.missed and record.outcome.adaptations == 0 for record in held_out)
    assert all((record.outcome.slots == -1).all() for record in held_out)
    assert all(torch.equal(value, state[name]) for name, value in adapted.model.state_dict().items())
    assert (len(adapted.memory), adapted.offered) == (rows, offered)
    assert offered == 64


def test_a_stream_that_is_exposed_as_a_whole_is_the_usual_one():
    flow = stream()
    usual, whole = (
        torch.cat([record.outcome.prediction.logits for record in evaluate(model(), flow, exposed=exposed)])
        for exposed in (None, np.ones(len(flow), bool))
    )
    assert torch.equal(usual, whole)
