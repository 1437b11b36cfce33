import numpy as np
import pytest
from memory.offers import ids, last_reason, offer, point
from memory.streams import predictions

from gotta.memory import Memory


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


def test_with_one_row_per_class_fps_lets_nearness_decide_and_cds_falls_back_to_cstu() -> None:
    for name, near, far in (("fps", -1, 0), ("cstu", 0, 0), ("cds", 0, 0)):
        for z, slot in ((point(0.0, 1.001), near), (point(1.0, 0.0), far)):
            memory = Memory(name, 2, 2)
            offer(memory, 0, 0.2, point(0.0, 1.0))
            assert offer(memory, 0, 0.1, z) == slot, name
        memory = Memory(name, 2, 2)
        offer(memory, 0, 0.2, point(0.0, 1.0))
        assert offer(memory, 0, 0.69, point(1.0, 0.0)) == -1, "more uncertain than the row is old"


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


def test_equal_scores_decide_for_the_newcomer_in_its_class_and_against_it_in_a_full_memory() -> None:
    own = Memory("fps", 2, 2, lambda_t=0.0)
    offer(own, 0, 0.2, point(1.0, 0.0))
    assert offer(own, 0, 0.2, point(0.0, 1.0)) == 0, "the nearest row's H is no smaller"
    full = Memory("fps", 1, 2, lambda_t=0.0)
    offer(full, 0, 0.2, point(1.0, 0.0))
    assert offer(full, 1, 0.2, point(0.0, 1.0)) == -1, "the worst row's H is not larger"
