"""Each policy on a few samples whose fate can be seen by hand, and each resolution of an open point."""

from typing import Any

import numpy as np
import pytest
from memory.streams import predictions

from gotta.errors import GottaError
from gotta.memory import Candidate, Decision, Memory, Policy, Table


def ids(memory: Memory) -> list[int]:
    return sorted(memory.ids.tolist())


def point(*values: float) -> np.ndarray:
    return np.array([values], dtype=np.float64)


def offer(memory: Memory, label: int, u: float, z: np.ndarray) -> int:
    return int(memory.observe([0], label=[label], uncertainty=[u], embedding=z)[0])


def last_reason(memory: Memory) -> str:
    assert memory.journal is not None
    return str(memory.journal.column("reason")[-1])


def test_fifo_keeps_the_latest() -> None:
    memory = Memory("fifo", 3, 1)
    assert memory.observe(np.arange(5)).tolist() == [0, 1, 2, 0, 1]
    assert ids(memory) == [2, 3, 4]


def test_reservoir_inclusion_is_uniform() -> None:
    """Chi-square over 2000 memories of 4 of 12 samples; 31.3 is the 0.1 % point for 11 degrees of freedom."""
    counts = np.zeros(12)
    memory = Memory("reservoir", 4, 1, rng=np.random.default_rng(5))
    for _ in range(2000):
        memory._start()
        memory.observe(np.arange(12))
        counts[memory.ids] += 1
    expected = 2000 * 4 / 12
    # A memory holds exactly 4 of 12, which shrinks the variance of each count by 11 / 12 * (1 - 1/3) * 12 / 11.
    assert ((counts - expected) ** 2 / (expected * (1 - 1 / 3)) * 11 / 12).sum() < 31.3


def test_pbrs_prefers_rare_classes() -> None:
    memory = Memory("pbrs", 4, 3)
    memory.observe(np.arange(50), label=[0] * 50)
    memory.observe(np.arange(2), label=[1, 2])
    assert memory.batch().label.tolist() == [0, 0, 1, 2]


def test_hus_takes_confident_samples_only() -> None:
    memory = Memory("hus", 2, 2, threshold=0.9, journal=True)
    assert offer(memory, 0, 0.0, point(0.8, 0.2)) == -1
    assert last_reason(memory) == "uncertain"
    for _ in range(3):
        assert offer(memory, 0, 0.0, point(0.95, 0.05)) >= 0
    assert offer(memory, 1, 0.0, point(0.05, 0.95)) >= 0
    assert memory.batch().label.tolist() == [0, 1]


def test_rbm_evicts_the_oldest_of_the_class_largest_of_late() -> None:
    memory = Memory("rbm", 4, 2)
    memory.observe(np.arange(4), label=[0, 0, 0, 1], uncertainty=[0.0] * 4)
    memory.batch()
    assert memory.state_dict()["vector.moving_count"].tolist() == pytest.approx([0.3, 0.1])
    memory.peek()
    assert memory.state_dict()["vector.moving_count"].tolist() == pytest.approx([0.3, 0.1])
    memory.observe(np.arange(3), label=[1, 1, 0], uncertainty=[0.0, 0.0, 0.4])
    assert ids(memory) == [2, 3, 4, 5], "moving counts do not change between readings; 0.4 is above 0.5 ln 2"
    assert memory.stats["uncertain"] == 1


def test_cstu_replaces_the_worst() -> None:
    memory = Memory("cstu", 4, 2, journal=True)
    memory.observe(np.arange(2), label=[0, 0], uncertainty=[0.6, 0.1])
    assert memory.observe([2], label=[0], uncertainty=[0.3]).tolist() == [0]
    assert last_reason(memory) == "replaced worst"
    assert memory.observe([3], label=[0], uncertainty=[0.69]).tolist() == [-1]
    assert last_reason(memory) == "class full"


def test_fps_replaces_the_nearest_if_it_is_no_better() -> None:
    memory = Memory("fps", 4, 2, journal=True)
    offer(memory, 0, 0.2, point(0.0, 0.0))
    offer(memory, 0, 0.2, point(1.0, 0.0))
    assert offer(memory, 0, 0.2, point(0.9, 0.0)) == 1
    assert last_reason(memory) == "replaced nearest"
    assert offer(memory, 0, 0.6, point(0.1, 0.0)) == -1
    assert last_reason(memory) == "worse than nearest"
    assert offer(memory, 1, 0.2, point(0.0, 0.0)) >= 0
    assert offer(memory, 1, 0.2, point(0.004, 0.0)) == -1
    assert last_reason(memory) == "redundant"
    assert offer(memory, 1, 0.2, point(0.006, 0.0)) >= 0


def test_fps_asks_epsilon_of_all_rows_or_of_those_that_remain() -> None:
    for against, slot in (("all", -1), ("remaining", 0)):
        memory = Memory("fps", 4, 2, journal=True, against=against)
        offer(memory, 0, 0.2, point(0.0, 0.0))
        offer(memory, 0, 0.2, point(0.008, 0.0))
        before = ids(memory)
        assert offer(memory, 0, 0.1, point(0.0035, 0.0)) == -1, "the other row is within epsilon"
        assert last_reason(memory) == "redundant"
        assert ids(memory) == before, "nothing is evicted when the candidate is rejected"
        assert offer(memory, 0, 0.1, point(0.001, 0.0)) == slot, "only the nearest is near, and it would leave"


def test_fps_exactly_epsilon_away_is_too_near() -> None:
    memory = Memory("fps", 4, 2, epsilon=0.25)
    offer(memory, 0, 0.2, point(0.0, 0.0))
    assert offer(memory, 0, 0.1, point(0.25, 0.0)) == -1
    assert offer(memory, 0, 0.1, point(np.nextafter(0.25, 1.0), 0.0)) == 1


def test_fps_that_evicts_first_loses_the_neighbour_of_a_near_duplicate() -> None:
    memory = Memory("fps", 4, 2, journal=True, order="evict_first")
    offer(memory, 0, 0.2, point(0.0, 0.0))
    offer(memory, 0, 0.2, point(1.0, 0.0))
    assert offer(memory, 0, 0.1, point(0.001, 0.0)) == -1
    assert memory.journal is not None
    assert memory.journal.column("evicted").tolist() == [-1, -1, 0]
    assert (ids(memory), memory.stats["evicted"], memory.stats["rejected"]) == ([1], 1, 1)
    copy = Memory("fps", 4, 2, order="evict_first")
    copy.load_state_dict(memory.state_dict())
    for again in (memory, copy):
        assert offer(again, 0, 0.1, point(0.5, 0.0)) == 0, "the cleared slot is free again"
    assert copy.batch().x.tolist() == memory.batch().x.tolist()


@pytest.mark.parametrize(("slot", "clear"), [(0, 0), (-1, 1), (-1, 9), (-1, -2), (4, -1)])
def test_a_decision_that_cannot_be_done_is_refused(slot: int, clear: int) -> None:
    class Odd(Policy):
        def place(self, table: Table, new: Candidate, rng: np.random.Generator) -> Decision:
            return Decision(table.free(), "room") if not len(table) else Decision(slot, "odd", clear)

    memory = Memory(Odd(), 4, 2)
    memory.observe([0])
    with pytest.raises(GottaError, match=f"chose slot {slot} and to clear {clear}"):
        memory.observe([1])
    assert len(memory) == 1


def test_with_one_row_per_class_fps_lets_nearness_decide_and_cds_falls_back_to_cstu() -> None:
    for name, near, far in (("fps", -1, 0), ("cstu", 0, 0), ("cds", 0, 0)):
        for z, slot in ((point(0.0, 1.001), near), (point(1.0, 0.0), far)):
            memory = Memory(name, 2, 2)
            offer(memory, 0, 0.2, point(0.0, 1.0))
            assert offer(memory, 0, 0.1, z) == slot, name
        memory = Memory(name, 2, 2)
        offer(memory, 0, 0.2, point(0.0, 1.0))
        assert offer(memory, 0, 0.69, point(1.0, 0.0)) == -1, "more uncertain than the row is old"


def test_cds_compares_a_single_row_if_asked_to() -> None:
    memory = Memory("cds", 2, 2, one_row="compare")
    offer(memory, 0, 0.2, point(0.0, 1.0))
    assert offer(memory, 0, 0.1, point(0.0, 2.0)) == -1, "the same direction"
    assert offer(memory, 0, 0.1, point(1.0, 0.0)) == 0


@pytest.mark.parametrize(("ties", "slot"), [("score", 1), ("earlier", 0), ("later", 1)])
def test_which_of_the_closest_pair_leaves_cds(ties: str, slot: int) -> None:
    memory = Memory("cds", 6, 2, ties=ties)
    for angle, u in ((0.0, 0.1), (0.3, 0.3), (1.4, 0.1)):
        offer(memory, 0, u, point(np.cos(angle), np.sin(angle)))
    assert offer(memory, 0, 0.0, point(np.cos(0.85), np.sin(0.85))) == slot
    expected = {"score": -1, "earlier": 2, "later": -1}[ties]
    assert offer(memory, 0, 0.69, point(np.cos(1.25), np.sin(1.25))) == expected, "closest to 1.4, and worse"


def test_cds_rejects_a_near_duplicate_and_thins_the_closest_pair() -> None:
    memory = Memory("cds", 6, 2, journal=True)
    for angle, u in ((0.0, 0.1), (0.3, 0.2), (1.2, 0.1)):
        offer(memory, 0, u, point(np.cos(angle), np.sin(angle)))
    assert offer(memory, 0, 0.0, point(2 * np.cos(0.05), 2 * np.sin(0.05))) == -1
    assert last_reason(memory) == "redundant"
    assert offer(memory, 0, 0.0, point(np.cos(0.75), np.sin(0.75))) == 1, "of 0.0 and 0.3 the more uncertain leaves"
    assert last_reason(memory) == "replaced redundant"
    assert offer(memory, 0, 0.69, point(np.cos(0.95), np.sin(0.95))) == -1, "closest to 0.75, and worse"


def test_cds_equal_score_the_earlier_leaves() -> None:
    memory = Memory("cds", 6, 2, lambda_t=0.0)
    for angle in (0.0, 0.3, 1.2):
        offer(memory, 0, 0.2, point(np.cos(angle), np.sin(angle)))
    assert offer(memory, 0, 0.2, point(np.cos(0.75), np.sin(0.75))) == 0
    assert offer(memory, 0, 0.2, point(np.cos(0.9), np.sin(0.9))) == 0, "the pair 0.75, 0.9: the stored one"


def test_cds_subset_compares_with_some_rows() -> None:
    """With one of three rows compared, the near duplicate is noticed about one time in three."""
    noticed = 0
    for seed in range(60):
        memory = Memory("cds", 6, 2, seed=seed, subset=1)
        for angle in (0.0, 0.7, 1.4):
            offer(memory, 0, 0.2, point(np.cos(angle), np.sin(angle)))
        noticed += offer(memory, 0, 0.0, point(1.0, 0.01)) == -1
    assert 8 <= noticed <= 32


def test_kcenter_drops_the_one_that_comes_last() -> None:
    memory = Memory("kcenter", 6, 2, journal=True)
    for value in (0.0, 1.0, 0.5):
        offer(memory, 0, 0.1, point(value, 0.0))
    assert offer(memory, 0, 0.0, point(0.45, 0.0)) == 2
    assert offer(memory, 0, 0.6, point(0.4, 0.0)) == -1
    assert last_reason(memory) == "redundant"
    with pytest.raises(GottaError, match="predicted labels only"):
        Memory("kcenter", 6, 2, by="truth")


@pytest.mark.parametrize(("quota", "expected"), [("real", 4), ("ceil", 4), ("floor", 3), ("none", 10)])
def test_quota(quota: str, expected: int) -> None:
    memory = Memory("cstu", 10, 3, quota=quota)
    memory.observe(np.arange(30), label=[1] * 30, uncertainty=np.linspace(1, 0, 30))
    assert len(memory) == expected


def test_a_class_with_room_in_a_full_memory_must_beat_the_worst_of_the_largest() -> None:
    for name in ("cstu", "fps", "cds", "kcenter"):
        memory = Memory(name, 2, 3, journal=True)
        offer(memory, 0, 0.5, point(1.0, 0.0))
        offer(memory, 1, 0.3, point(0.0, 1.0))
        assert offer(memory, 2, 1.0, point(1.0, 1.0)) == -1
        assert last_reason(memory) == "memory full"
        assert offer(memory, 2, 0.3, point(1.0, 1.0)) == 0
        assert last_reason(memory) == "replaced worst"


SPELLINGS = {
    "fifo": ("all", "oldest", "always"),
    "reservoir": ("all", "random", "coin"),
    "pbrs": ("largest", "random", "coin"),
    "cstu": ("quota", "worst", "better"),
    "fps": ("quota", "nearest", "diverse"),
}


@pytest.mark.parametrize("bursty", [False, True])
@pytest.mark.parametrize(("num_classes", "capacity"), [(2, 32), (10, 8), (10, 64), (100, 64)])
@pytest.mark.parametrize("name", SPELLINGS)
def test_composed_spells_the_named_ones(name: str, num_classes: int, capacity: int, bursty: bool) -> None:
    stream = predictions(np.random.default_rng(num_classes), 600, num_classes, bursty)
    allocate, evict, admit = SPELLINGS[name]
    rules: dict[str, Any] = {"allocate": allocate, "evict": evict, "admit": admit}
    named = Memory(name, capacity, num_classes, seed=4, journal=True)
    composed = Memory("composed", capacity, num_classes, seed=4, journal=True, **rules)
    for memory in (named, composed):
        memory.observe(np.arange(600), **stream)
    assert named.journal is not None
    assert composed.journal is not None
    for column in ("slot", "evicted", "reason"):
        assert named.journal.column(column).tolist() == composed.journal.column(column).tolist()


def test_composed_refuses_unknown_rules() -> None:
    with pytest.raises(GottaError, match="evict='best'"):
        Memory("composed", 4, 2, evict="best")


@pytest.mark.parametrize("bursty", [False, True])
def test_fps_stores_no_two_compared_rows_within_epsilon(bursty: bool) -> None:
    stream = predictions(np.random.default_rng(2), 2000, 5, bursty)
    memory = Memory("fps", 40, 5, epsilon=0.05)
    memory.observe(np.arange(2000), **stream)
    batch = memory.batch()
    for label in range(5):
        z = batch.embedding[batch.label == label].double().numpy()
        distance = np.linalg.norm(z[:, None] - z[None], axis=2) + 10 * np.eye(len(z))
        assert (distance > 0.05).all()
