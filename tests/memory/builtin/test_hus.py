from memory.offers import last_reason, offer, point

from gotta.memory import Memory


def test_hus_takes_confident_samples_only() -> None:
    memory = Memory("hus", 2, 2, threshold=0.9, journal=True)
    assert offer(memory, 0, 0.0, point(0.8, 0.2)) == -1
    assert last_reason(memory) == "uncertain"
    for _ in range(3):
        assert offer(memory, 0, 0.0, point(0.95, 0.05)) >= 0
    assert offer(memory, 1, 0.0, point(0.05, 0.95)) >= 0
    assert memory.batch().label.tolist() == [0, 1]
