"""Stream: what it shows, how it is cut, and that it is always the same."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from streams.fake_data import ALL_DOMAINS, FakeDataset, balanced, published

from gotta.errors import GottaError
from gotta.seeds import legacy_generator
from gotta.streams import STANDARD_ORDER, Stream, StreamSpec, read_ahead
from gotta.streams.order import class_runs, dirichlet

FEW = ("snow", "fog", "frost")


def stream(labels=None, **arguments):
    dataset = FakeDataset(balanced(5, 12) if labels is None else labels)
    return Stream(dataset, StreamSpec.of(**{"domains": FEW, "batch_size": 16, **arguments}))


specs = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["iid", "sorted", "lame", "dirichlet", "note_iid"]),
        "schedule": st.sampled_from(["continual", "mixed", "gradual"]),
        "domains": st.sampled_from([("snow",), FEW, ("fog", "snow", "fog")]),
        "severity": st.integers(1, 3),
        "duplicates": st.integers(1, 3),
        "batch_size": st.integers(1, 40),
        "seed": st.integers(0, 99),
        "gamma": st.sampled_from([0.1, 1.0]),
    }
)


@settings(max_examples=60, deadline=None)
@given(arguments=specs, labels=st.lists(st.sampled_from([0, 2, 7]), min_size=1, max_size=40))
def test_each_visit_shows_each_image_as_often_as_asked(arguments, labels):
    found = stream(labels, **arguments)
    visits = Counter(zip(found.domain.tolist(), found.index.tolist(), strict=True))
    assert set(visits.values()) == {arguments["duplicates"]}
    assert len(visits) == len(found.domains) * len(labels)
    assert (found.label == np.array(labels)[found.index]).all()
    covered = np.concatenate([np.arange(found.num_samples)[batch] for batch in found.batches])
    assert covered.tolist() == list(range(found.num_samples))
    sizes = [batch.stop - batch.start for batch in found.batches]
    assert all(size == found.batch_size for size in sizes[:-1])
    assert 1 <= sizes[-1] <= found.batch_size


@settings(max_examples=30, deadline=None)
@given(arguments=specs.filter(lambda a: a["schedule"] != "mixed"), drop=st.booleans())
def test_with_resets_no_batch_spans_two_domains(arguments, drop):
    arguments["batch_size"] = max(2, arguments["batch_size"])
    found = stream([0, 1, 2, 0, 1, 2, 0], **arguments, reset_at_domain=True, drop_single=drop)
    single = 7 * arguments["duplicates"] % arguments["batch_size"] == 1
    for batch in found.batches:
        assert len(set(found.domain[batch].tolist())) == 1
        assert not drop or batch.stop - batch.start > 1
    assert found.num_samples == (7 * arguments["duplicates"] - (drop and single)) * len(found.domains)
    starts = [k for k in range(len(found)) if found.starts_domain(k)]
    assert len(starts) == len(found.domains)
    assert [found.domain[found.batches[k]][0] for k in starts] == list(range(len(found.domains)))


def test_without_resets_batches_span_domains_and_only_true_starts_are_told():
    found = stream(order="iid", batch_size=25)  # 60 images per domain
    assert [len(set(found.domain[batch].tolist())) for batch in found.batches] == [1, 1, 2, 1, 2, 1, 1, 1]
    assert [found.starts_domain(k) for k in range(8)] == [True] + [False] * 7
    assert [stream(batch_size=20).starts_domain(k) for k in range(9)] == [True, False, False] * 3
    assert sum(stream(schedule="mixed").starts_domain(k) for k in range(12)) == 1


def test_the_practical_stream_is_the_published_order_domain_after_domain():
    labels = balanced(5, 12)
    found = stream(labels, gamma=0.3, seed=4)
    rng = legacy_generator(4, "stream")
    assert found.index.tolist() == np.concatenate([dirichlet(labels, 0.3, rng, 5) for _ in FEW]).tolist()
    assert found.domain.tolist() == [0] * 60 + [1] * 60 + [2] * 60
    assert found.domains == ("snow-5", "fog-5", "frost-5")


def test_default_domains_are_the_standard_fifteen_at_severity_5():
    found = Stream(FakeDataset(balanced(3, 5)))
    assert found.domains == tuple(f"{name}-5" for name in STANDARD_ORDER)
    assert found.num_samples == 15 * 15
    assert stream(domains=None, domain_order="dataset").domains == ALL_DOMAINS


def test_gradual_visits_every_severity_up_and_down():
    found = stream(schedule="gradual", domains=("snow", "fog"), order="iid")
    assert found.domains[:9] == tuple(f"snow-{s}" for s in (1, 2, 3, 4, 5, 4, 3, 2, 1))
    assert found.domains[9:] == tuple(f"fog-{s}" for s in (1, 2, 3, 4, 5, 4, 3, 2, 1))
    assert (np.diff(found.domain) >= 0).all()
    assert np.bincount(found.domain).tolist() == [60] * 18


def test_recurring_comes_back_in_another_order():
    found = stream(schedule="recurring", repeats=2)
    assert found.domains == ("snow-5", "fog-5", "frost-5") * 2
    assert found.index[:60].tolist() != found.index[180:240].tolist()


@pytest.mark.parametrize("order", ["dirichlet", "sorted"])
def test_mixed_mixes_the_domains_inside_each_class(order):
    found = stream(balanced(5, 40), schedule="mixed", order=order, gamma=0.1)
    assert class_runs(found.label).mean() > 10
    assert class_runs(found.domain).mean() < 2
    assert sorted(zip(found.domain, found.index, strict=True)) == [(d, i) for d in range(3) for i in range(200)]


@pytest.mark.parametrize("choose", ["first", "random"])
def test_per_class_takes_the_same_balanced_images_in_every_domain(choose):
    labels = balanced(5, 12)
    found = stream(labels, per_class=3, choose=choose, seed=2)
    shown = [sorted(found.index[found.domain == d].tolist()) for d in range(3)]
    assert shown[0] == shown[1] == shown[2]
    assert np.bincount(labels[shown[0]]).tolist() == [3] * 5
    first = sorted(i for y in range(5) for i in np.flatnonzero(labels == y)[:3])
    assert (shown[0] == first) == (choose == "first")


def test_limit_takes_the_same_images_in_every_domain():
    found = stream(limit=10)
    assert [sorted(found.index[found.domain == d].tolist()) for d in range(3)] == [list(range(10))] * 3
    chosen = [sorted(stream(limit=10, choose="random", seed=s).index[:10].tolist()) for s in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]
    assert stream(limit=1000).num_samples == 180
    found = stream(limit=30, choose="random", order="sorted", domains="snow")
    assert all((np.diff(found.index[found.label == y]) > 0).all() for y in range(5))  # still in the data set's order


def test_classes_keeps_only_those():
    found = stream(classes=(1, 3))
    assert sorted(set(found.label.tolist())) == [1, 3]
    assert found.num_samples == 3 * 24
    with pytest.raises(GottaError, match="no image of class 8"):
        stream(classes=(1, 8))


def test_duplicates_are_adjacent_in_the_dirichlet_stream():
    found = stream(duplicates=4, domains="snow", classes=(0, 1))
    runs = class_runs(found.index)
    assert found.num_samples == 2 * 12 * 4
    assert np.mean(runs == 4) > 0.8  # a cut may fall between two copies


def test_steps_show_the_pixels_of_their_own_domain():
    found = stream(balanced(5, 70), schedule="mixed", batch_size=50)
    for step in found:
        pixels = (step.x * 255).round().long()
        row, domain = pixels[:, 0, 0, 0] + 256 * pixels[:, 1, 0, 0], pixels[:, 2, 0, 0]
        names = [found.domains[d] for d in step.truth.domain]
        assert row.tolist() == step.truth.index.tolist()
        assert [ALL_DOMAINS[d] for d in domain] == names
        assert step.x.dtype == torch.float32
        assert step.x.shape[1:] == (3, 2, 2)
        assert step.truth.label.tolist() == found.dataset.labels[step.truth.index].tolist()
    assert len(set(names)) == 3


def test_iterating_twice_and_from_the_middle_gives_the_same():
    found = stream(batch_size=16)
    first, second = list(found), list(found)
    assert len(first) == len(found) == 12
    assert all(torch.equal(a.x, b.x) for a, b in zip(first, second, strict=True))
    rest = list(read_ahead(found, 9))
    assert [step.truth.index.tolist() for step in rest] == [step.truth.index.tolist() for step in first[9:]]
    assert list(read_ahead(found, 12)) == []
    with pytest.raises(GottaError, match=r"step 13 does not exist: the stream has steps 0\.\.11"):
        next(read_ahead(found, 13))


def test_nothing_but_iterating_touches_pixels():
    found = stream()
    assert found.summary()["samples"] == 180
    assert found.hash
    assert found.dataset.asked == 0
    next(iter(found))
    assert found.dataset.asked == 1


def test_the_same_seed_gives_the_same_hash_and_another_seed_another():
    for order in ("iid", "dirichlet", "lame", "note_iid"):
        hashes = {stream(order=order, seed=seed).hash for seed in (0, 1, 2)}
        assert len(hashes) == 3
        assert stream(order=order, seed=1).hash in hashes


def test_everything_that_is_shown_enters_the_hash():
    changes = [
        {},
        {"batch_size": 17},
        {"reset_at_domain": True},
        {"domains": ("fog", "snow", "frost")},
        {"severity": 4},
        {"gamma": 0.2},
        {"duplicates": 2},
        {"limit": 40},
    ]
    assert len({stream(**change).hash for change in changes}) == len(changes)
    relabelled = balanced(5, 12)
    relabelled[:2] = (relabelled[:2] + 1) % 5
    assert stream(relabelled, order="iid").hash != stream(order="iid").hash
    assert stream(relabelled, order="iid").index.tolist() == stream(order="iid").index.tolist()


def test_the_hash_does_not_change_between_processes_and_versions():
    """If this value changes, the algorithm, the seeding or the hash did, and stored results lose their stream."""
    code = (
        "import numpy as np; from gotta.streams import Stream, StreamSpec\n"
        "class D: labels = np.arange(40) % 4; domains = ('a-5', 'b-5'); num_classes = 4\n"
        "print(Stream(D(), StreamSpec(domains=('a', 'b'), batch_size=8)).hash)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert found == "b2b37a6fe7761e2f2601aee315f4052bc6551a5bc50687206e0b55bdbc369b0e"


def test_drop_single_leaves_out_a_last_lone_sample():
    assert [len(stream(batch_size=179, drop_single=drop)) for drop in (False, True)] == [2, 1]
    assert stream(batch_size=179, drop_single=True).num_samples == 179
    assert stream(batch_size=178, drop_single=True).num_samples == 180
    assert stream(batch_size=59, drop_single=True, reset_at_domain=True).num_samples == 177


def test_update_every_trims_note():
    found = stream(balanced(5, 40), order="note", beta=1.0, update_every=64)
    assert np.bincount(found.domain).tolist() == [192] * 3


def test_summary():
    found = stream([0, 0, 1, 1, 1, 0], order="sorted", domains="snow", batch_size=4)
    assert found.summary() == {
        "samples": 6,
        "batches": 2,
        "domains": 1,
        "classes": 2,
        "class_runs": 2,
        "class_run_mean": 3.0,
        "class_run_median": 3.0,
        "class_run_max": 3,
        "classes_per_batch": 1.5,
        "hash": found.hash,
        "order_hash": found.order_hash,
    }


def test_the_hash_of_the_order_ignores_the_cuts():
    labels = [0, 0, 1, 1, 1, 0]
    whole, cut = (stream(labels, order="sorted", domains="snow", batch_size=size) for size in (4, 2))
    assert whole.order_hash == cut.order_hash
    assert whole.hash != cut.hash
    assert whole.order_hash != stream(labels[::-1], order="sorted", domains="snow", batch_size=4).order_hash


def test_columns_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="read-only"):
        stream().index[0] = 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"domains": "snwo"}, r"domain 'snwo-5' is unknown\. Did you mean 'snow-"),
        ({"order": "dirichle", "batch_size": 0}, "(?s)batch_size.*Did you mean 'dirichlet'"),
        ({"schedule": "one"}, "visits one domain, got 3"),
        ({"per_class": 13}, "class 0 has only 12. Use fewer"),
        ({"order": "note", "limit": 20}, "there are 20"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(GottaError, match=message):
        stream(**arguments)


def test_a_data_set_without_the_standard_domains_says_how_to_go_on():
    dataset = FakeDataset([0, 1], domains=("indoor", "outdoor"))
    with pytest.raises(GottaError, match="domain_order='dataset'"):
        Stream(dataset)
    assert Stream(dataset, StreamSpec(domain_order="dataset")).domains == ("indoor", "outdoor")


def test_a_step_belongs_to_its_reader():
    """Tensors made of a step's arrays must not warn of read-only memory, nor change the stream."""
    found = stream()
    before = found.hash
    torch.from_numpy(found.step(0).truth.label).zero_()
    assert found.step(0).truth.label.any()
    assert stream().hash == before


def test_labels_outside_the_classes_and_empty_streams_are_errors():
    with pytest.raises(GottaError, match=r"labels go from 0 to 9\. Expected 0 to 4"):
        Stream(FakeDataset([0, 9], num_classes=5), StreamSpec(order="iid"))
    with pytest.raises(GottaError, match="the stream is empty"):
        Stream(FakeDataset([0], num_classes=2), StreamSpec(domains="snow", drop_single=True))
    with pytest.raises(GottaError, match="has no domains"):
        Stream(FakeDataset([0], domains=()), StreamSpec(domain_order="dataset"))
    with pytest.raises(GottaError, match="no labels to order"):
        Stream(FakeDataset([], num_classes=2))


def test_a_recurring_stream_is_that_of_petta_each_visit_drawn_anew(monkeypatch):
    cases = published("petta")["cases"]
    for case in cases:
        monkeypatch.setattr(
            "gotta.streams.stream.legacy_generator", lambda *_, s=case: np.random.RandomState(s["numpy_seed"])
        )
        names = STANDARD_ORDER[: case["domains"]]
        found = stream(case["labels"], domains=names, schedule="recurring", repeats=case["visits"], gamma=case["gamma"])
        assert (found.domain * len(case["labels"]) + found.index).tolist() == case["order"]
    assert [case["visits"] for case in cases] == [4, 20]


def test_a_dirichlet_order_says_that_it_never_becomes_iid():
    assert not stream(gamma=0.1).notes
    assert not stream(order="iid", gamma=100).notes
    [note] = stream(balanced(10, 100), gamma=100).notes
    assert "gamma=100 does not make a Dirichlet order i.i.d." in note
    assert "class runs are 10.1 samples long on average, in random order 1.1." in note
    assert "use order=iid" in note


NEW = [
    {"order": "markov", "schedule": "mixed", "class_stay": 0.9, "domain_stay": 0.8, "again": True},
    {"order": "markov", "schedule": "mixed", "class_imbalance": 5.0, "domain_stay": 1.0},
    {"order": "markov", "class_stay": 0.9},
    {"schedule": "cdc", "order": "iid", "delta": 0.5},
    {"class_imbalance": 4.0, "head": "random"},
    {"class_imbalance": 4.0, "schedule": "mixed"},
    {"schedule": "recurring", "repeats": 3},
]


@pytest.mark.parametrize("arguments", NEW)
def test_streams_go_on_in_the_middle_and_begin_anew(arguments):
    found = stream(**arguments)
    labels = [step.truth.label.tolist() for step in found]
    assert [step.truth.label.tolist() for step in list(found)[2:]] == labels[2:]
    assert [step.truth.label.tolist() for step in found] == labels
    assert stream(**arguments).hash == found.hash
    assert stream(**arguments, seed=1).hash != found.hash
    shown = found.step(1).x[:, :, 0, 0].mul(255).round().long()
    assert shown[:, 0].tolist() == found.step(1).truth.index.tolist()
    assert [ALL_DOMAINS[k] for k in shown[:, 2].tolist()] == [found.domains[k] for k in found.step(1).truth.domain]


@pytest.mark.parametrize("arguments", NEW)
def test_what_comes_later_does_not_change_what_came_before(arguments):
    """Steps are cut from one sequence, whatever their size."""
    small, large = stream(**arguments, batch_size=4), stream(**arguments, batch_size=32)
    assert small.order_hash == large.order_hash
