import numpy as np
from memory.offers import ids

from gotta.memory import Memory


def test_a_smaller_class_takes_the_place_of_the_oldest_of_the_largest() -> None:
    memory = Memory("cbfifo", 4, 3)
    assert memory.observe(np.arange(4), label=[0, 0, 1, 0]).tolist() == [0, 1, 2, 3]
    assert memory.observe(np.array([4]), label=[2]).tolist() == [0]
    assert ids(memory) == [1, 2, 3, 4]


def test_of_several_largest_classes_the_oldest_row_of_all_leaves() -> None:
    memory = Memory("cbfifo", 4, 3)
    memory.observe(np.arange(4), label=[1, 0, 0, 1])
    memory.observe(np.array([4]), label=[2])
    assert ids(memory) == [1, 2, 3, 4]


def test_a_largest_class_renews_itself_and_nobody_is_turned_away() -> None:
    memory = Memory("cbfifo", 4, 2)
    memory.observe(np.arange(4), label=[0, 0, 1, 1])
    assert (memory.observe(np.arange(4, 24), label=[1] * 20) >= 0).all()
    assert ids(memory) == [0, 1, 22, 23]


def test_with_one_class_it_is_fifo() -> None:
    labels = [0] * 40
    kept = [Memory(name, 7, 3) for name in ("cbfifo", "fifo")]
    slots = [memory.observe(np.arange(40), label=labels).tolist() for memory in kept]
    assert slots[0] == slots[1]
    assert ids(kept[0]) == ids(kept[1])
