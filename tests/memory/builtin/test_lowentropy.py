import json
from math import log, nextafter
from pathlib import Path

import numpy as np

from gotta.memory import Memory
from gotta.memory.builtin.lowentropy import LowEntropy

GOLDEN = Path(__file__).parents[2] / "golden" / "rivals" / "lowentropy.json"


def test_the_published_memory_holds_the_same_samples() -> None:
    recorded = json.loads(GOLDEN.read_text())
    memory = Memory("lowentropy", recorded["capacity"], recorded["num_classes"], rng=np.random.default_rng(5))
    offers = list(zip(recorded["labels"], recorded["uncertainty"], strict=True))
    snapshots = {snapshot["after"]: snapshot["ids"] for snapshot in recorded["snapshots"]}
    for number, (label, uncertainty) in enumerate(offers, 1):
        memory.observe(np.zeros((1, 1)), label=[label], uncertainty=[uncertainty])
        if number in snapshots:
            assert memory.ids.tolist() == snapshots[number]
    assert len(snapshots) == 10
    assert memory.stats["uncertain"] > 20


def test_the_margin_is_its_authors_and_a_sample_at_it_stays_out() -> None:
    assert LowEntropy() == LowEntropy(margin=0.4)
    limit = 0.4 * log(10)
    memory = Memory("lowentropy", 4, 10)
    slots = memory.observe(np.zeros((2, 1)), label=[0, 1], uncertainty=[limit, nextafter(limit, 0)])
    assert slots.tolist() == [-1, 0]


def test_a_largest_class_makes_room_for_a_newcomer_of_any() -> None:
    memory = Memory("lowentropy", 4, 3)
    memory.observe(np.zeros((5, 1)), label=[0, 0, 0, 1, 2], uncertainty=[0.0] * 5)
    assert sorted(memory.peek().label.tolist()) == [0, 0, 1, 2]
