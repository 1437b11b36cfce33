import numpy as np
import pytest
from memory.offers import last_reason, offer, point

from gotta.memory import Memory
from gotta.memory.builtin.cds import CDS


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


@pytest.mark.parametrize(("subset", "least", "most"), [(1, 8, 32), (2, 33, 52), (3, 60, 60), (9, 60, 60)])
def test_cds_subset_compares_with_some_rows(subset: int, least: int, most: int) -> None:
    """With one of three rows compared, the near duplicate is noticed about one time in three; with all, each time."""
    noticed = 0
    for seed in range(60):
        memory = Memory("cds", 6, 2, seed=seed, subset=subset)
        for angle in (0.0, 0.7, 1.4):
            offer(memory, 0, 0.2, point(np.cos(angle), np.sin(angle)))
        noticed += offer(memory, 0, 0.0, point(1.0, 0.01)) == -1
    assert least <= noticed <= most


def test_cds_takes_a_similarity_of_just_one_less_epsilon_for_redundant() -> None:
    """Right angles have a similarity of exactly 0, which is 1 - epsilon for an epsilon of 1."""
    for epsilon, slot in ((1.0, -1), (0.999, 0)):
        memory = Memory("cds", 2, 1, epsilon=epsilon, lambda_t=0.0)
        offer(memory, 0, 0.5, point(1.0, 0.0))
        offer(memory, 0, 0.1, point(-1.0, 0.0))
        assert offer(memory, 0, 0.2, point(0.0, 1.0)) == slot, epsilon


def test_cds_needs_strictly_more_to_take_the_place_of_the_only_row() -> None:
    memory = Memory("cds", 2, 2, lambda_t=0.0, journal=True)
    offer(memory, 0, 0.2, point(1.0, 0.0))
    assert offer(memory, 0, 0.2, point(0.0, 1.0)) == -1
    assert last_reason(memory) == "class full"
    assert offer(memory, 0, 0.1, point(0.0, 1.0)) == 0


def test_defaults_of_cds() -> None:
    assert CDS() == CDS(0.005, None, 1.0, 1.0, "real", "score", "cstu")


def test_pairs_of_copies_are_equally_redundant_whatever_their_length() -> None:
    memory = Memory("cds", 8, 2)
    flat, sure = point(*[0.1] * 10), point(1.0, *[0.0] * 9)
    for uncertainty, embedding in ((0.6, flat), (0.6, flat), (0.1, sure), (0.1, sure)):
        assert offer(memory, 0, uncertainty, embedding) >= 0
    assert offer(memory, 0, 0.1, point(0.0, 1.0, *[0.0] * 8)) == 0  # the largest H of all four
