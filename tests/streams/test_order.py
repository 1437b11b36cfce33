"""Orders: exactly the published ones, and what must hold of any."""

import itertools
import json
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.fake_data import balanced, next_draws

from gotta.errors import GottaError
from gotta.streams import order
from gotta.streams.order import (
    ORDERS,
    by_class,
    class_runs,
    dirichlet,
    iid,
    lame,
    note,
    note_chunks,
    note_iid,
    shuffled_run,
)
from gotta.streams.stream_spec import StreamSpec, call, check

GOLDEN = Path(__file__).parents[1] / "golden" / "streams"
labels_with_gaps = st.lists(st.sampled_from([0, 1, 2, 5, 9]), min_size=1, max_size=60)
seeds = st.integers(0, 2**31 - 1)


def golden(pattern):
    return [(path.name, json.loads(path.read_text())) for path in sorted(GOLDEN.glob(pattern))]


def test_dirichlet_equals_the_published_order():
    files, cases, underflowed = golden("dirichlet_*.json"), 0, 0
    for name, data in files:
        label, domain = np.array(data["labels"]), np.array(data["domains"])
        for case in data["cases"]:
            rng = np.random.RandomState(case["numpy_seed"])
            slots = case["slots"] if case.get("slots_overridden") else None
            found, lost = [], 0
            for one in np.unique(domain):
                rows = np.flatnonzero(domain == one)
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    at = dirichlet(label[rows], case["gamma"], rng, data["num_classes"], slots)
                found.append(rows[at])
                lost += sum(int(re.match(r"\d+", str(w.message))[0]) for w in caught)
            assert np.concatenate(found).tolist() == case["order"], (name, case["gamma"])
            assert next_draws(rng) == case["next_randint"], (name, case["gamma"])
            assert lost == case["class_rows_with_nan"], (name, case["gamma"])
            cases, underflowed = cases + 1, underflowed + (lost > 0)
    assert (len(files), cases, underflowed) == (6, 20, 4)


def test_note_equals_the_published_order():
    files = golden("note_temporal_*.json")
    for name, data in files:
        rng = np.random.RandomState(data["numpy_seed"])
        found = note(data["labels"], data["beta"], rng, data["num_classes"], data["nsample"], data["update_every"])
        assert found.tolist() == data["order"], name
        assert next_draws(rng) == data["next_randint"], name
        again = np.random.RandomState(data["numpy_seed"])
        attempts = note_chunks(np.array(data["labels"]), data["beta"], again, data["num_classes"])[2]
        assert attempts == data["attempts"], name
    assert len(files) == 5
    assert max(data["attempts"] for _, data in files) > 1


def test_note_iid_equals_the_published_order():
    [(_, data)] = golden("note_iid.json")
    rng = np.random.RandomState(data["numpy_seed"])
    assert note_iid(data["labels"], rng, data["nsample"], data["update_every"]).tolist() == data["order"]
    assert next_draws(rng) == data["next_randint"]


def test_a_dirichlet_order_by_hand():
    """Two classes, two slots: each class is cut once, the pieces of a slot come in the drawn order."""

    class Scripted(np.random.RandomState):
        visits = iter([[1, 0], [0, 1]])

        def dirichlet(self, alpha, size=None):
            assert (list(alpha), size) == ([0.1, 0.1], 2)
            return np.array([[0.5, 0.5], [0.3, 0.7]])

        def permutation(self, x):
            return np.array(next(self.visits))

    labels = [0, 1, 0, 1, 1, 0, 0, 1]  # class 0 at 0 2 5 6, class 1 at 1 3 4 7; class 1 is cut at floor(0.3 * 4) = 1
    assert dirichlet(labels, 0.1, Scripted(0)).tolist() == [1, 0, 2, 5, 6, 3, 4, 7]


@pytest.mark.parametrize("name", ["iid", "sorted", "lame", "dirichlet", "note", "note_iid", "runs"])
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
@settings(max_examples=30, deadline=None)
@given(labels=labels_with_gaps, seed=seeds)
def test_every_item_comes_exactly_once(name, make, labels, seed):
    spec = StreamSpec(min_chunk=1, beta=1.0, run_length=3)
    if name == "note":
        labels = labels * 20  # ten chunks need enough items
    found = call(ORDERS.get(name), spec, labels=np.array(labels), rng=make(seed), num_classes=10)
    assert found.dtype == np.int64
    assert sorted(found.tolist()) == list(range(len(labels)))
    again = call(ORDERS.get(name), spec, labels=np.array(labels), rng=make(seed), num_classes=10)
    assert found.tolist() == again.tolist()


@settings(max_examples=30, deadline=None)
@given(labels=labels_with_gaps, seed=seeds)
def test_dirichlet_keeps_the_data_sets_order_inside_a_class(labels, seed):
    found = dirichlet(labels, 0.3, np.random.RandomState(seed))
    ordered = np.array(labels)[found]
    for y in set(labels):
        assert (np.diff(found[ordered == y]) > 0).all()


def test_all_registered_orders_are_tested():
    assert ORDERS.names() == ["dirichlet", "iid", "lame", "markov", "note", "note_iid", "pairs", "runs", "sorted"]


def test_sorted_is_class_by_class_in_the_data_sets_order():
    assert by_class([2, 0, 2, 1, 0]).tolist() == [1, 4, 3, 0, 2]


def test_lame_groups_by_first_appearance_of_a_shuffle():
    labels = balanced(5, 8)
    found = lame(labels, np.random.RandomState(3))
    shuffled = labels[np.random.RandomState(3).permutation(len(labels))]
    assert class_runs(labels[found]).tolist() == [8] * 5
    assert list(dict.fromkeys(labels[found].tolist())) == list(dict.fromkeys(shuffled.tolist()))


def test_dirichlet_runs_grow_as_gamma_falls():
    labels = balanced(10, 100)
    rng = np.random.RandomState(0)
    mean = {
        "iid": class_runs(labels[iid(labels, rng)]).mean(),
        1.0: class_runs(labels[dirichlet(labels, 1.0, rng)]).mean(),
        0.1: class_runs(labels[dirichlet(labels, 0.1, rng)]).mean(),
        0.01: class_runs(labels[dirichlet(labels, 0.01, rng, underflow="one_slot")]).mean(),
    }
    assert mean["iid"] < 1.3
    assert mean["iid"] * 5 < mean[1.0] < mean[0.1] < mean[0.01]


def tiny_gamma_shares(seed):
    """The draw that dirichlet makes first, and the classes whose row of it is NaN."""
    shares = np.random.RandomState(seed).dirichlet([1e-4] * 10, 10)
    return shares, np.flatnonzero(np.isnan(shares).any(1))


def test_published_underflow_puts_classes_whole_into_the_last_slot():
    labels, (shares, lost) = balanced(10, 20), tiny_gamma_shares(5)
    assert 0 < len(lost) < 10
    with pytest.warns(UserWarning, match=rf"^{len(lost)} classes .*gamma=0\.0001, 10 slots.*last slot") as caught:
        found = dirichlet(labels, 1e-4, np.random.RandomState(5))
    assert len(caught) == 1
    kept = np.delete(shares, lost, 0)
    in_last_slot = 20 * len(lost) + sum(20 - int(share.cumsum()[-2] * 20) for share in kept)
    last_slot = labels[found][-in_last_slot:]
    assert [(last_slot == y).sum() for y in lost] == [20] * len(lost)


def test_one_slot_spreads_the_underflowed_classes():
    """Over many seeds the place of an underflowed class is uniform, not at the end; and it stays in one piece."""
    labels = balanced(10, 5)
    place = {"published": [], "one_slot": []}
    for seed in range(100):
        lost = tiny_gamma_shares(seed)[1]
        for mode, places in place.items():
            with warnings.catch_warnings():
                if mode == "published":  # the other one has nothing to warn of
                    warnings.simplefilter("ignore")
                found = dirichlet(labels, 1e-4, np.random.RandomState(seed), underflow=mode)
            assert sorted(found.tolist()) == list(range(50))
            at = [np.flatnonzero(labels[found] == y) for y in lost]
            assert all((np.diff(where) == 1).all() for where in at)
            places += [where.mean() for where in at]
    assert len(place["one_slot"]) > 300
    assert abs(np.mean(place["one_slot"]) - 24.5) < 3
    assert np.mean(place["published"]) > 30


def test_one_slot_draws_nothing_more_without_underflow():
    labels = balanced(10, 20)
    one, other = np.random.RandomState(1), np.random.RandomState(1)
    assert dirichlet(labels, 1.0, one, underflow="one_slot").tolist() == dirichlet(labels, 1.0, other).tolist()
    assert next_draws(one) == next_draws(other)


def test_slots_default_to_the_classes_and_at_most_100():
    for classes, slots in ((7, 7), (100, 100), (130, 100)):
        labels = np.arange(classes).repeat(3)
        default = dirichlet(labels, 0.5, np.random.RandomState(2))
        assert default.tolist() == dirichlet(labels, 0.5, np.random.RandomState(2), slots=slots).tolist()
        assert default.tolist() != dirichlet(labels, 0.5, np.random.RandomState(2), slots=slots - 1).tolist()


def test_note_trims_to_nsample_and_whole_updates():
    labels, whole = balanced(5, 40), None
    for nsample, every, length in ((None, None, 200), (150, None, 150), (150, 64, 128), (None, 64, 192)):
        found = note(labels, 0.5, np.random.RandomState(4), nsample=nsample, update_every=every)
        whole = found.tolist() if whole is None else whole
        assert found.tolist() == whole[:length]


def test_note_chunks_are_balanced():
    labels = balanced(10, 100)
    chunk = np.concatenate(note_chunks(labels, 0.1, np.random.RandomState(0), 10, min_chunk=50)[1])
    assert np.bincount(chunk).min() >= 50


def test_note_gives_up_with_a_way_out(monkeypatch):
    with pytest.raises(GottaError, match=r"needs 10 chunks of at least min_chunk=10 images, and there are 50\."):
        note(balanced(10, 5), 0.1, np.random.RandomState(0))
    monkeypatch.setattr(order, "MOST_ATTEMPTS", 20)
    with pytest.raises(GottaError, match=r"in 20 attempts\. Use more images"):
        note(balanced(10, 10), 0.01, np.random.RandomState(0))


def test_class_runs():
    assert class_runs([]).tolist() == []
    assert class_runs([4]).tolist() == [1]
    assert class_runs([1, 1, 0, 1, 1, 1]).tolist() == [2, 1, 3]


@pytest.mark.parametrize(
    ("labels", "arguments", "message"),
    [
        ([0, 3], {"num_classes": 3}, "labels go from 0 to 3. Expected 0 to 2"),
        ([0, -1], {}, "labels go from -1 to 0"),
        ([], {}, "no labels"),
        ([0.5, 1.0], {}, "list of integers, got float64"),
        ([[0], [1]], {}, r"shape \(2, 1\)"),
    ],
)
def test_dirichlet_errors(labels, arguments, message):
    rng = np.random.RandomState(0)
    before = rng.get_state()[1].tolist()
    with pytest.raises(GottaError, match=message):
        dirichlet(labels, **{"gamma": 0.1, "rng": rng, **arguments})
    assert rng.get_state()[1].tolist() == before


def test_note_errors():
    with pytest.raises(GottaError, match="labels go from 5 to 5"):
        note([5], 0.1, np.random.RandomState(0), num_classes=5)


def test_pairs_alternate_until_both_classes_are_used_up():
    labels = np.repeat([0, 1, 2, 3, 4], [4, 6, 5, 5, 3])
    order = ORDERS.get("pairs")(labels=labels, rng=np.random.RandomState(3))
    assert sorted(order.tolist()) == list(range(len(labels)))
    shown, place = labels[order], 0
    while place < len(shown):
        classes = list(dict.fromkeys(shown[place:].tolist()))[:2]
        part = shown[np.isin(shown, classes)]
        assert np.array_equal(shown[place : place + len(part)], part)
        both = 2 * min(np.bincount(part)[classes]) if len(classes) == 2 else 0
        assert part[:both].tolist() == classes * (both // 2)
        place += len(part)
    other = ORDERS.get("pairs")(labels=labels, rng=np.random.RandomState(4))
    assert not np.array_equal(order, other)


@pytest.mark.parametrize("gamma", [0.01, 0.1, 100.0])
@pytest.mark.parametrize("length", [1, 7.5, 1000])
def test_runs_hold_every_item_once(length, gamma):
    labels = np.repeat([4, 0, 2], [30, 1, 17])
    order = ORDERS.get("runs")(labels, gamma, np.random.RandomState(0), length, num_classes=6)
    assert sorted(order.tolist()) == list(range(48))


@pytest.mark.parametrize("length", [1, 5, 20])
def test_runs_are_as_long_as_asked_for_where_all_classes_mix(length):
    labels = np.arange(20_000) % 100
    order = ORDERS.get("runs")(labels, 1e6, np.random.RandomState(0), length)
    pieces = class_runs(labels[order])
    # a class has 200 items, so the last run of each is cut short; neighbours are alike once in a hundred times
    expected = 200 / (1 + 199 / length)
    assert pieces.mean() == pytest.approx(expected / 0.99, rel=0.05)


def test_runs_have_ten_samples_if_nobody_says():
    labels = np.arange(600) % 3
    usual, ten = (ORDERS.get("runs")(labels, 0.1, np.random.RandomState(0), *length) for length in ((), (10,)))
    assert usual.tolist() == ten.tolist()


def test_runs_of_one_sample_with_a_large_gamma_are_iid():
    labels = np.arange(20_000) % 10
    order = ORDERS.get("runs")(labels, 1e6, np.random.RandomState(0), 1)
    assert (np.diff(labels[order]) == 0).mean() == pytest.approx(0.1, abs=0.01)
    counts = np.bincount(labels[order][:1000], minlength=10)
    assert counts.std() == pytest.approx(np.sqrt(1000 * 0.1 * 0.9), rel=0.6)
    assert np.corrcoef(np.arange(20_000), order)[0, 1] == pytest.approx(0, abs=0.03)


def test_runs_of_a_small_gamma_have_few_classes_at_a_time():
    labels = np.arange(20_000) % 10

    def seen(gamma):
        order = ORDERS.get("runs")(labels, gamma, np.random.RandomState(0), 1)
        return np.mean([len(set(part.tolist())) for part in np.split(labels[order], 100)])

    assert seen(0.1) < 6 < 9.9 < seen(100.0)


@pytest.mark.parametrize("length", [0.5, float("nan"), float("inf")])
def test_runs_have_a_sample_at_least(length):
    assert any(told.startswith("run_length must be") for told in check(StreamSpec(order="runs", run_length=length)))


@pytest.mark.parametrize("labels", [[0, 0, 1], [0, 1, 2, 2, 2], [0, 0, 1, 1, 1, 1], [3, 3]])
def test_the_runs_of_a_random_order_are_those_of_all_orders(labels):
    """The number of samples by the mean number of runs, over every order that these labels can have."""
    runs = [1 + sum(a != b for a, b in itertools.pairwise(order)) for order in itertools.permutations(labels)]
    assert shuffled_run(labels) == pytest.approx(len(labels) / np.mean(runs))
