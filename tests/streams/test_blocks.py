"""Continual dynamic change: the published sequences of domains to the number."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.fake_data import FakeDataset, balanced, next_draws, published

from gotta.errors import GottaError
from gotta.streams import STANDARD_ORDER, Stream, StreamSpec
from gotta.streams.schedule import Blocks, cdc

PUBLISHED = published("cdc")


def test_the_sequence_of_domains_is_that_of_dpcore():
    for case in PUBLISHED["dpcore"]:
        rng, domain = np.random.RandomState(case["numpy_seed"]), np.repeat(np.arange(15), case["batches"])
        blocks = cdc(STANDARD_ORDER, case["delta"], case["slots"])
        assert isinstance(blocks, Blocks)
        assert domain[blocks.arrange(domain, rng)].tolist() == case["domain"]
        assert next_draws(rng) == case["next_randint"]
    assert len(PUBLISHED["dpcore"]) == 4


def test_a_stream_is_that_of_petta_which_cuts_by_samples(monkeypatch):
    for case in PUBLISHED["petta"]:
        monkeypatch.setattr(
            "gotta.streams.stream.legacy_generator", lambda *_, s=case: np.random.RandomState(s["numpy_seed"])
        )
        names = STANDARD_ORDER[: case["domains"]]
        spec = StreamSpec(order="iid", schedule="cdc", delta=case["gamma"], domain_slots=case["slots"], domains=names)
        found = Stream(FakeDataset([0] * case["images"]), spec)
        assert (found.domain * case["images"] + found.index).tolist() == case["order"]
    assert len(PUBLISHED["petta"]) == 3


@settings(max_examples=40, deadline=None)
@given(
    order=st.sampled_from(["iid", "dirichlet", "sorted", "markov"]),
    delta=st.sampled_from([1e-4, 0.1, 1.0, 100.0]),
    slots=st.integers(1, 6),
    seed=st.integers(0, 99),
)
@pytest.mark.filterwarnings("ignore:.*underflowed")
def test_each_image_of_each_domain_comes_at_most_once_in_the_order_of_its_domain(order, delta, slots, seed):
    data, names = FakeDataset(balanced(4, 6)), ("snow", "fog", "frost")
    settings = {"order": order, "domains": names, "seed": seed, "batch_size": 7}
    found = Stream(data, StreamSpec(schedule="cdc", delta=delta, domain_slots=slots, **settings))
    whole = Stream(data, StreamSpec(schedule="continual", **settings))
    assert found.domains == whole.domains
    for k in range(3):
        assert np.array_equal(found.index[found.domain == k], whole.index[whole.domain == k])
    assert len(np.unique(found.domain * 24 + found.index)) == found.num_samples
    assert 3 <= len(found.starts) <= 3 * slots
    assert found.hash == Stream(data, found.spec).hash


def test_the_pieces_of_a_domain_are_one_domain_and_each_begins_anew():
    spec = StreamSpec(order="iid", schedule="cdc", domains=("snow", "fog"), reset_at_domain=True, batch_size=8, seed=1)
    found = Stream(FakeDataset(balanced(5, 12)), spec)
    assert found.domains == ("snow-5", "fog-5")
    assert len(found.starts) > 2
    assert all(len(set(found.domain[batch].tolist())) == 1 for batch in found.batches)
    assert sum(found.starts_domain(k) for k in range(len(found))) == len(found.starts)


def test_pieces_do_not_depend_on_the_size_of_batches():
    data = FakeDataset(balanced(5, 12))
    hashes = {
        Stream(data, StreamSpec(order="iid", schedule="cdc", domains=("snow", "fog"), batch_size=n)).order_hash
        for n in (1, 8, 64)
    }
    assert len(hashes) == 1


def test_one_domain_has_nothing_to_change_to():
    with pytest.raises(GottaError, match=r"schedule 'cdc' changes between domains, got 1\. Name more, or use 'one'"):
        cdc(["snow-5"])


def test_the_published_number_of_pieces_is_usual():
    usual = cdc(STANDARD_ORDER)
    assert isinstance(usual, Blocks)
    assert (usual.delta, usual.slots) == (1.0, 3)
    assert (StreamSpec().delta, StreamSpec().domain_slots) == (1.0, 3)
