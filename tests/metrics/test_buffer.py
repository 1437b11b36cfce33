import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from gotta.metrics.buffer import Buffer, last_writers
from gotta.types import MemoryBatch


def rows(label, embedding=None, age=None):
    n = len(label)
    embedding = np.arange(n, dtype=float)[:, None] if embedding is None else np.asarray(embedding, float)
    return MemoryBatch(
        x=torch.zeros(n, 1),
        label=torch.tensor(label, dtype=torch.int64),
        uncertainty=torch.zeros(n, dtype=torch.float64),
        embedding=torch.from_numpy(embedding).float(),
        age=torch.tensor(age if age is not None else [1] * n, dtype=torch.int64),
    )


def note(buffer, slots, labels, embedding=None):
    embedding = np.zeros((len(slots), 1)) if embedding is None else np.asarray(embedding, float)
    buffer.update(np.array(slots), np.array(labels), embedding)


def test_counts_occupancy_and_age():
    measured = Buffer(8, 4).measure(rows([0, 0, 2], age=[5, 1, 9]), np.array([0, 3, 1]))
    assert measured["rows"] == 3
    assert measured["occupancy"] == 3 / 8
    assert measured["classes"] == 2
    assert measured["age_mean"] == 5.0
    assert measured["age_max"] == 9


def test_purity_follows_overwritten_slots():
    buffer = Buffer(3, 3)
    note(buffer, [0, 1, 2, -1], [0, 1, 2, 2])
    assert buffer.measure(rows([0, 1, 1]), np.array([0, 1, 2]))["purity"] == pytest.approx(2 / 3)
    note(buffer, [2, 2, -1], [2, 1, 0])  # slot 2 is written twice: the second sample stays
    assert buffer.measure(rows([0, 1, 1]), np.array([0, 1, 2]))["purity"] == 1.0
    note(buffer, [0], [2])
    assert buffer.measure(rows([0, 1, 1]), np.array([0, 1, 2]))["purity"] == pytest.approx(2 / 3)


def test_rows_come_in_the_order_of_their_slots():
    buffer = Buffer(3, 3)
    note(buffer, [0, 1, 2], [2, 0, 1])
    assert buffer.measure(rows([0, 1, 2]), np.array([1, 2, 0]))["purity"] == 1.0


def test_rows_of_unknown_truth_do_not_count_for_purity():
    buffer = Buffer(4, 3)
    note(buffer, [0], [1])
    assert buffer.measure(rows([1, 2]), np.array([0, 3]))["purity"] == 1.0
    assert buffer.measure(rows([1, 2]), np.array([2, 3]))["purity"] is None
    assert buffer.measure(rows([1, 2]), np.array([-1, 99]))["purity"] is None


def test_last_writer_of_a_slot():
    slots, positions = last_writers(np.array([4, 2, -1, 4, 2, 4]))
    assert slots.tolist() == [2, 4]
    assert positions.tolist() == [4, 5]


def test_duplicates_and_neighbours_by_hand(monkeypatch):
    points = [[0.0, 0.0], [0.003, 0.004], [1.0, 0.0], [0.0, 0.0], [5.0, 5.0]]
    measured = Buffer(5, 3).measure(rows([0, 0, 0, 1, 2], points), np.arange(5))
    # rows 0 and 1 lie 0.005 apart; row 3 has their place but another class; 2 is a distance of about 1 away
    third = math.hypot(1 - 0.003, 0.004)
    assert measured["nn_distance"] == pytest.approx((0.005 + 0.005 + third) / 3, rel=1e-5)
    for reach, share in ((0.006, 2 / 5), (0.004, 0.0)):
        monkeypatch.setattr("gotta.metrics.measures.NEAR", reach)
        again = Buffer(5, 3).measure(rows([0, 0, 0, 1, 2], points), np.arange(5))
        assert again["near_duplicates"] == share


def test_equal_rows_of_a_class_are_duplicates():
    measured = Buffer(4, 2).measure(rows([0, 0, 1, 1], [[1.0], [1.0], [1.0], [2.0]]), np.arange(4))
    assert measured["near_duplicates"] == 0.5
    assert measured["nn_distance"] == 0.5


def test_one_row_per_class_has_no_neighbour():
    measured = Buffer(2, 2).measure(rows([0, 1]), np.arange(2))
    assert measured["nn_distance"] is None
    assert measured["near_duplicates"] == 0.0


def test_coverage_is_over_the_last_samples_only():
    buffer = Buffer(2, 2, recent=3)
    note(buffer, [-1] * 4, [0] * 4, [[100.0], [0.0], [1.0], [2.0]])
    assert buffer.measure(rows([0], [[0.0]]), np.array([0]))["coverage"] == pytest.approx(1.0)
    note(buffer, [-1], [0], [[6.0]])
    assert buffer.measure(rows([0], [[0.0]]), np.array([0]))["coverage"] == pytest.approx(3.0)
    note(buffer, [-1] * 5, [0] * 5, [[50.0], [50.0], [7.0], [8.0], [9.0]])
    assert buffer.measure(rows([0, 1], [[0.0], [8.0]]), np.array([0, 1]))["coverage"] == pytest.approx(2 / 3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 30))
def test_splitting_an_update_does_not_matter(seed, cut):
    rng = np.random.default_rng(seed)
    slots, labels, points = rng.integers(-1, 5, 30), rng.integers(3, size=30), rng.normal(size=(30, 2))
    whole, split = Buffer(5, 3, recent=11), Buffer(5, 3, recent=11)
    whole.update(slots, labels, points)
    split.update(slots[:cut], labels[:cut], points[:cut])
    split.update(slots[cut:], labels[cut:], points[cut:])
    memory = rows([0, 0, 1, 2, 2], rng.normal(size=(5, 2)))
    left, right = whole.measure(memory, np.arange(5)), split.measure(memory, np.arange(5))
    assert left.pop("coverage") == pytest.approx(right.pop("coverage"))
    assert left == right


def test_no_memory_holds_a_whole_batch_whatever_its_capacity():
    buffer = Buffer(2, 3)
    note(buffer, range(5), [0, 1, 2, 0, 1])
    measured = buffer.measure(rows([0, 1, 2, 0, 0]), np.arange(5))
    assert measured["purity"] == pytest.approx(4 / 5)
    assert measured["occupancy"] == 1.0
    note(buffer, range(2), [2, 2])  # a short last batch
    assert buffer.measure(rows([2, 2]), np.arange(2))["purity"] == 1.0


def test_an_empty_memory_is_none_and_json_ready():
    buffer = Buffer(4, 2)
    note(buffer, [-1], [0])
    measured = buffer.measure(rows([], np.zeros((0, 1))), np.zeros(0, np.int64))
    assert measured["rows"] == measured["occupancy"] == measured["classes"] == 0
    rest = set(measured) - {"rows", "occupancy", "classes"}
    assert len(rest) == 7
    assert all(measured[name] is None for name in rest)
    json.dumps(measured, allow_nan=False)


def test_nonfinite_embeddings_are_left_out_of_distances():
    buffer = Buffer(3, 2)
    note(buffer, [-1, -1], [0, 0], [[np.nan], [1.0]])
    measured = buffer.measure(rows([0, 0, 0], [[0.0], [np.nan], [3.0]]), np.arange(3))
    assert measured["coverage"] == 1.0
    assert measured["nn_distance"] == 3.0
    json.dumps(measured, allow_nan=False)


def test_tensors_are_taken_too():
    buffer = Buffer(2, 2)
    buffer.update(torch.tensor([0, 1]), torch.tensor([0, 1]), torch.zeros(2, 3, requires_grad=True))
    assert buffer.measure(rows([0, 1], np.zeros((2, 3))), torch.tensor([0, 1]))["purity"] == 1.0


def test_near_copies_are_those_within_the_papers_epsilon_and_coverage_is_of_the_last_thousand():
    near, far = (Buffer(4, 2).measure(rows([0, 0], [[0.0], [gap]]), np.array([0, 1])) for gap in (0.0049, 0.0051))
    assert (near["near_duplicates"], far["near_duplicates"]) == (1.0, 0.0)
    assert Buffer(4, 2).recent == 1000
