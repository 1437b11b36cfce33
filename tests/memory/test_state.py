"""Whatever a memory is offered, it takes it, or raises one GottaError and stays as it was, bit for bit."""

from collections import Counter

import numpy as np
import pytest
import torch
from odd_inputs import CLASSES, KINDS, odd
from whole_state import plain

from gotta import GottaError, Memory, list_memories
from gotta.memory.state import Rewind

D = 3


def frozen(memory):
    journal = None if memory.journal is None else [len(memory.journal.events), len(memory.journal.batches)]
    return plain(memory.state_dict()), journal


def batch_of(size, rng):
    return {
        "x": torch.from_numpy(rng.random((size, 2, 3))).float(),
        "label": torch.from_numpy(rng.integers(CLASSES, size=size)),
        "uncertainty": torch.from_numpy(rng.random(size)),
        "embedding": torch.from_numpy(rng.random((size, D))).float(),
    }


def build(name, rng):
    return Memory(name, int(rng.integers(1, 7)), CLASSES, seed=3, journal=bool(rng.integers(2)))


def try_case(number):
    rng = np.random.default_rng([5, number])
    memory = build(str(rng.choice(list_memories())), rng)
    for _ in range(rng.integers(3)):
        memory.observe(**batch_of(int(rng.integers(1, 6)), rng))
    part, kind = batch_of(int(rng.integers(1, 6)), rng), str(rng.choice(list(KINDS)))
    name = str(rng.choice(list(part)))
    part[name] = odd(kind, part[name])
    before = frozen(memory)
    try:
        slots = memory.observe(**part)
    except GottaError:
        assert frozen(memory) == before, (number, memory.policy, name, kind)
        return "refused"
    except Exception as error:
        raise AssertionError(f"{type(error).__name__} instead of a GottaError: {number} {name} {kind}") from error
    assert len(slots) == len(part["x"])
    held = memory.batch()
    assert len(held) == len(memory) == len(held.x)
    assert np.isfinite(held.embedding.numpy()).all()
    last = [(slot, row) for row, slot in enumerate(slots.tolist()) if slot >= 0 and slot not in slots[row + 1 :]]
    where = {slot: at for at, slot in enumerate(memory.slots.tolist())}
    for slot, row in last:  # what was stored is what is read
        given = part["x"][row]
        given = given.detach() if isinstance(given, torch.Tensor) else torch.tensor(np.array(given))
        assert torch.equal(held.x[where[slot]], given.to(held.x))
    return "valid"


def test_a_memory_takes_a_batch_or_stays_as_it_was():
    found = Counter(try_case(number) for number in range(500))
    assert found["refused"] > 150
    assert found["valid"] > 50


def test_samples_that_torch_cannot_write_change_nothing():
    memory = Memory("fifo", 3, CLASSES)
    before = frozen(memory)
    with pytest.raises(GottaError, match="UInt16"):
        memory.observe(torch.zeros(4, 3, 2, 2, dtype=torch.uint16), label=[0, 1, 2, 3])
    assert frozen(memory) == before


@pytest.mark.slow
def test_four_thousand_batches():
    found = Counter(try_case(1000 + number) for number in range(4000))
    assert found["refused"] > 1000


@pytest.mark.parametrize("name", list_memories())
def test_going_back_leaves_no_trace(name):
    """Also where rows are evicted, read and refreshed in between, and for whatever the policy draws at random."""

    def run(detour):
        rng, other = np.random.default_rng(0), np.random.default_rng(1)
        memory = Memory(name, 6, CLASSES, seed=3, journal=True)
        for step in range(12):
            if detour and step % 3:
                rewind = Rewind(memory)
                memory.take_in(**batch_of(9, other))
                memory.batch()
                memory.refresh(lambda x: Predicted(len(x), other))
                rewind.back()
                rewind.back()  # as often as one likes
                rewind.stop()
            memory.observe(**batch_of(5, rng))
            memory.batch()
        return frozen(memory)

    assert run(detour=True) == run(detour=False)


class Predicted:
    def __init__(self, size, rng):
        found = batch_of(size, rng)
        self.label, self.uncertainty, self.embedding = found["label"], found["uncertainty"], found["embedding"]


def test_an_exchanged_table_goes_back_too():
    rng = np.random.default_rng(0)
    memory = Memory("fps", 6, CLASSES)
    memory.observe(**batch_of(5, rng))
    before = frozen(memory)
    rewind = Rewind(memory)
    memory.reset()
    memory.take_in(**batch_of(3, rng))
    rewind.back()
    assert frozen(memory) == before


def test_nothing_is_logged_unless_somebody_may_want_it_back():
    memory = Memory("fifo", 2, CLASSES)
    memory.observe(**batch_of(5, np.random.default_rng(0)))
    assert memory._table.log is memory._storage.log is None


def test_samples_that_cannot_be_stored_are_not_counted():
    memory = Memory("fifo", 2, CLASSES)
    with pytest.raises(GottaError, match="cannot be stored"):
        memory.observe(torch.ones(2, 3).to(torch.uint16))
    assert (len(memory), memory.stats["stored"]) == (0, 0)


def test_an_embedding_that_the_first_ones_type_cannot_hold():
    memory = Memory("fps", 2, CLASSES)
    memory.observe(np.zeros((1, 2)), label=[0], uncertainty=[0.5], embedding=np.ones((1, 3), np.float16))
    with pytest.raises(GottaError, match="too large"):
        memory.observe(np.zeros((1, 2)), label=[0], uncertainty=[0.5], embedding=np.full((1, 3), 1e6))
    assert len(memory) == 1


@pytest.mark.parametrize("name", list_memories())
def test_rows_can_be_dropped(name):
    rng = np.random.default_rng(0)
    memory = Memory(name, 6, CLASSES, seed=3)
    for _ in range(4):
        memory.observe(**batch_of(5, rng))
    held, marked = memory.peek(), np.arange(len(memory)) % 2 == 0
    memory.drop(marked)
    assert torch.equal(memory.peek().x, held.x[~torch.from_numpy(marked)])
    assert np.bincount(memory.peek().label, minlength=CLASSES).tolist() == memory._table.count.tolist()
    memory.observe(**batch_of(9, rng))
    assert len(memory) == len(memory.batch()) <= 9
