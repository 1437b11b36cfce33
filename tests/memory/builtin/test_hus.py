import math

import numpy as np
import pytest
from memory.offers import last_reason, offer, point
from tiny import seeded_net

from gotta import GottaError, adapt
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import Memory
from gotta.memory.builtin.hus import HUS


def test_hus_takes_confident_samples_only() -> None:
    memory = Memory("hus", 2, 2, threshold=0.9, journal=True)
    assert offer(memory, 0, 0.0, point(0.8, 0.2)) == -1
    assert last_reason(memory) == "uncertain"
    for _ in range(3):
        assert offer(memory, 0, 0.0, point(0.95, 0.05)) >= 0
    assert offer(memory, 1, 0.0, point(0.05, 0.95)) >= 0
    assert memory.batch().label.tolist() == [0, 1]


def test_a_single_class_may_fill_the_memory() -> None:
    memory = Memory("hus", 4, 2, threshold=0.9)
    assert [offer(memory, 0, 0.0, point(0.95, 0.05)) for _ in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize(("classes", "threshold"), [(10, 0.99), (100, 0.66), (1000, 0.33), (2, 0.99), (5000, 0.33)])
def test_the_threshold_follows_the_number_of_classes(classes: int, threshold: float) -> None:
    assert HUS().threshold_for(classes) == threshold
    assert HUS(threshold=0.5).threshold_for(classes) == 0.5
    assert bool(HUS().notes(classes)) == (classes not in (10, 100, 1000))
    assert not HUS(threshold=0.5).notes(classes)


def test_between_published_numbers_of_classes_the_threshold_is_interpolated_and_said() -> None:
    assert 0.66 < HUS().threshold_for(43) < 0.99
    assert HUS().threshold_for(200) == pytest.approx(0.99 - 0.33 * (math.log10(200) - 1))
    memory = Memory("hus", 64, 43)
    assert memory.notes == [
        "hus takes a threshold of 0.78 for 43 classes; its authors gave 0.99, 0.66, 0.33 for 10, 100, 1000."
    ]


def test_a_sample_at_the_threshold_enters() -> None:
    memory = Memory("hus", 2, 10, journal=True)
    rest = [0.01 / 9] * 9
    assert offer(memory, 0, 0.0, point(0.99, *rest)) == 0
    assert offer(memory, 0, 0.0, point(np.nextafter(0.99, 0), *rest)) == -1


def test_logits_as_embedding_are_refused() -> None:
    memory = Memory("hus", 2, 2)
    with pytest.raises(GottaError, match="Expected class probabilities as embedding"):
        offer(memory, 0, 0.0, point(4.0, -1.0))
    with pytest.raises(GottaError, match="Expected class probabilities as embedding"):
        offer(memory, 0, 0.0, point(1.2, 0.0))
    assert len(memory) == 0
    for embedding in ("logits", "features"):
        with pytest.raises(GottaError, match="embedding='probs'"):
            adapt(seeded_net(classes=3), "norm", "hus", 8, num_classes=3, embedding=embedding)
        with pytest.raises(GottaError, match=f"method.embedding=probs .got {embedding}."):
            RunSpec.of({"method": {"name": "norm", "embedding": embedding}, "memory": {"name": "hus", "capacity": 8}})
