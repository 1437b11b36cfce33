"""Global class imbalance: TRIBE's selection to the number."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.fake_data import FakeDataset, balanced, next_draws, published

from gotta.streams import Stream, StreamSpec
from gotta.streams.imbalance import class_sizes, thin_classes
from gotta.streams.order import dirichlet

HEAD = {"constant": "first", "random": "random"}  # TRIBE's names


def test_selection_and_order_are_the_published_ones():
    cases = published("tribe")["cases"]
    for case in cases:
        rng, label, found = np.random.RandomState(case["numpy_seed"]), np.array(case["labels"]), []
        for domain in range(case["domains"]):
            kept = thin_classes(label, case["imbalance"], rng, HEAD[case["class_ratio"]])
            at = dirichlet(label[kept], case["gamma"], rng, case["num_classes"])
            found += (domain * len(label) + kept[at]).tolist()
        assert found == case["order"]
        assert next_draws(rng) == case["next_randint"]
    assert len(cases) == 7


def test_a_stream_is_the_published_one(monkeypatch):
    cases = published("tribe")["cases"]
    for case in cases:
        monkeypatch.setattr(
            "gotta.streams.stream.legacy_generator", lambda *_, s=case: np.random.RandomState(s["numpy_seed"])
        )
        head = HEAD[case["class_ratio"]]
        spec = StreamSpec(
            class_imbalance=case["imbalance"], head=head, domains=("snow", "fog", "frost")[: case["domains"]]
        )
        found = Stream(FakeDataset(case["labels"]), spec)
        assert (found.domain * len(case["labels"]) + found.index).tolist() == case["order"]


@settings(deadline=None)
@given(
    labels=st.lists(st.sampled_from([1, 3, 4]), min_size=1, max_size=50),
    imbalance=st.sampled_from([1.0, 2.0, 10.0, 200.0]),
    head=st.sampled_from(["first", "random"]),
    seed=st.integers(0, 99),
)
def test_each_position_stays_at_most_once(labels, imbalance, head, seed):
    first, second = (thin_classes(labels, imbalance, np.random.RandomState(seed), head) for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first)) == len(first) >= 1


def test_sizes_fall_in_equal_ratios():
    assert class_sizes(200, 10, 200.0)[0] == 200
    assert class_sizes(200, 10, 200.0)[-1] == 1
    assert class_sizes(1000, 10, 10.0) == [1000, 774, 599, 464, 359, 278, 215, 166, 129, 100]
    assert class_sizes(7, 1, 100.0) == [7]


def test_the_head_is_the_same_in_each_domain_or_drawn():
    def sizes(head):
        spec = StreamSpec(order="iid", class_imbalance=10, head=head, domains=("snow", "fog", "frost"), seed=3)
        stream = Stream(FakeDataset(balanced(5, 40)), spec)
        return [np.bincount(stream.label[stream.domain == k]).tolist() for k in range(3)]

    assert sizes("first") == [[40, 22, 12, 7, 4]] * 3
    drawn = sizes("random")
    assert [sorted(found, reverse=True) for found in drawn] == [[40, 22, 12, 7, 4]] * 3
    assert len(set(map(tuple, drawn))) > 1


def test_without_imbalance_a_stream_is_what_it_was():
    data = FakeDataset(balanced(5, 12))
    assert Stream(data, StreamSpec(class_imbalance=1)).hash == Stream(data, StreamSpec()).hash
