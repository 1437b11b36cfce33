"""Class and domain as Markov chains: UniTTA's walks to the number, and what they promise."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.fake_data import FakeDataset, balanced, next_draws, published

from gotta.streams import Stream, StreamSpec
from gotta.streams.markov import Walk, make_chain, markov

PUBLISHED = published("unitta")
SETTINGS = list(product((None, 0.95, 1.0), (1.0, 10.0), (None, 0.85, 1.0), (1.0, 5.0)))  # all 36 of the paper


def walk(case, again=True):
    images = np.array(case["images"])
    rng = np.random.RandomState(case["numpy_seed"])
    domains = make_chain(images.shape[0], case["domain_stay"], case["domain_imbalance"])
    classes = make_chain(images.shape[1], case["class_stay"], case["class_imbalance"])
    return Walk(domains, classes, images.ravel(), rng, again).take().tolist(), rng


def arrange(stays, each=20, domains=3, classes=4, seed=0, again=False):
    label, domain = np.tile(np.repeat(np.arange(classes), each), domains), np.repeat(np.arange(domains), classes * each)
    class_stay, class_imbalance, domain_stay, domain_imbalance = stays
    rng = np.random.RandomState(seed)
    order = markov(label, rng, domain, classes, class_stay, domain_stay, class_imbalance, domain_imbalance, again)
    return order, label[order], domain[order]


def test_the_walk_is_the_published_one_and_draws_the_same_random_numbers():
    repeats = 0
    for case in PUBLISHED["cases"]:
        found, rng = walk(case)
        assert found == case["pairs"]
        assert next_draws(rng) == case["next_randint"]
        repeats += case["repeats"] > 0
    assert (len(PUBLISHED["cases"]), repeats) == (38, 19)


def test_where_the_published_code_fails_classes_follow_one_another_domain_by_domain():
    assert len(PUBLISHED["fails"]) == 4
    for class_stay, class_imbalance, domain_stay, domain_imbalance in PUBLISHED["fails"]:
        assert class_stay == domain_stay == 1
        _, label, domain = arrange((class_stay, class_imbalance, domain_stay, domain_imbalance))
        pairs = [
            pair
            for k, pair in enumerate(zip(domain, label, strict=True))
            if not k or (domain[k - 1], label[k - 1]) != pair
        ]
        assert pairs == list(product(range(3), range(4)))


@settings(max_examples=60, deadline=None)
@given(
    stays=st.sampled_from(SETTINGS),
    labels=st.lists(st.integers(0, 5), min_size=1, max_size=60),
    domains=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_each_image_comes_at_most_once_and_a_seed_gives_one_order(stays, labels, domains, seed):
    domain = np.arange(len(labels)) % domains
    named = dict(zip(("class_stay", "class_imbalance", "domain_stay", "domain_imbalance"), stays, strict=True))
    first, second = (markov(labels, np.random.RandomState(seed), domain, 6, **named) for _ in range(2))
    assert np.array_equal(first, second)
    assert len(np.unique(first)) == len(first) >= 1
    again = markov(labels, np.random.RandomState(seed), domain, 6, again=True, **named)
    assert set(again.tolist()) <= set(range(len(labels)))


def test_with_again_images_take_turns():
    order, label, domain = arrange((0.95, 1.0, 1.0, 1.0), again=True)
    count = np.bincount(order, minlength=240)
    assert count.max() > 1
    for y, d in product(range(4), range(3)):
        of_pair = count[(np.tile(np.repeat(np.arange(4), 20), 3) == y) & (np.repeat(np.arange(3), 80) == d)]
        assert of_pair.max() - of_pair.min() <= 1
    assert len(label) == len(domain) == 240


@pytest.mark.parametrize(("stay", "imbalance"), [(0.95, 1.0), (0.95, 10.0), (None, 1.0), (0.85, 5.0)])
def test_a_chain_that_can_gives_each_its_share(stay, imbalance):
    chain = make_chain(10, stay, imbalance)
    assert chain.balanced
    assert np.allclose(chain.moves.sum(1), 1)
    assert np.allclose(chain.share @ chain.moves, chain.share)
    assert np.isclose(chain.share[0] / chain.share[-1], imbalance)
    assert np.isclose(chain.moves[0, 0], 0.1 if stay is None else stay)


def test_a_chain_that_cannot_says_so():
    assert not make_chain(10, None, 10.0).balanced
    assert not make_chain(10, 1.0).balanced
    assert make_chain(10, 1.0).ever
    assert make_chain(1, 0.5, 10.0).balanced  # there is nothing to share


def test_classes_and_domains_stay_as_often_as_asked():
    _, label, domain = arrange((0.9, 1.0, 0.5, 1.0), each=2000)
    assert len(label) > 8000
    for column, stay in ((label, 0.9), (domain, 0.5)):
        stayed = np.mean([now == then for then, now in pairwise(column.tolist())])
        assert stayed == pytest.approx(stay, abs=0.02)


def test_shares_are_kept_where_the_chain_cannot_give_them():
    _, label, domain = arrange((None, 10.0, 1.0, 5.0), each=1000)
    assert np.bincount(label)[0] / np.bincount(label)[-1] == pytest.approx(10, rel=0.05)
    assert np.bincount(domain)[0] / np.bincount(domain)[-1] == pytest.approx(5, rel=0.05)
    assert (np.diff(domain) >= 0).all()


def test_a_chain_that_ends_before_all_classes_have_come_says_so():
    def notes(each):
        spec = StreamSpec(order="markov", class_stay=0.95, domain_stay=0.85, schedule="mixed", again=True)
        return Stream(FakeDataset(balanced(10, each)), spec).notes

    [note] = notes(5)
    assert "of 10 classes have come. Give it more images (per_class)." in note
    assert notes(100) == []
