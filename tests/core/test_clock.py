import math

import pytest
import torch
from tiny import TinyData, seeded_net

from gotta import adapt
from gotta.core.clock import Clock, forwards
from gotta.core.loop import evaluate
from gotta.streams import Stream, StreamSpec


def cost(passes, backwards=0, samples=16):
    return {"adapt": {"seconds": 1.0, "forwards": passes, "backwards": backwards, "samples": passes * samples}}


def taken(clock, steps, spent):
    """The steps that are not missed when each costs the same."""
    found = []
    for step in range(steps):
        if clock.ready(step):
            found.append(step)
            clock.spend(step, spent, 16)
    return found


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_a_method_that_takes_k_batches_time_misses_k_minus_1(k):
    assert taken(Clock(1.0), 20, cost(k)) == list(range(0, 20, k))


@pytest.mark.parametrize(("passes", "pace"), [(3, 2.0), (4, 2.0), (5, 2.0), (5, 0.5), (1, 8.0)])
def test_the_pace_divides_the_cost(passes, pace):
    assert taken(Clock(pace), 40, cost(passes)) == list(range(0, 40, math.ceil(passes / pace)))


def test_a_stream_that_waits_misses_nothing():
    assert taken(Clock(), 5, cost(100)) == [0, 1, 2, 3, 4]


def test_a_backward_counts_as_two_forwards_of_the_steps_width():
    assert forwards(cost(2, 1), 16) == 4
    assert forwards(cost(1), 8) == 2, "a memory larger than the batch costs more than one forward of the batch"
    kept_graph = {
        **cost(1),
        "adapt": {"seconds": 0, "forwards": 0, "backwards": 1, "samples": 0},
        "predict": cost(1)["adapt"],
    }
    assert forwards(kept_graph, 16) == 3
    assert forwards({}, 16) == 0


def test_a_clock_goes_on_from_the_records_of_a_run():
    records = [{"step": k, "missed": k not in (0, 4), "cost": cost(3), "samples": 16} for k in range(6)]
    clock = Clock(1.0)
    clock.catch_up(records)
    assert [clock.ready(step) for step in (6, 7)] == [False, True]
    fresh = Clock(1.0)
    fresh.catch_up([])
    assert fresh.ready(0)


def stream(**settings):
    return Stream(TinyData(), StreamSpec(domains=("clean", "dark-5", "bright-5"), batch_size=16, **settings))


def records(method, memory, clock, reset="never", statistics=None, **settings):
    capacity = None if memory == "none" else 16
    adapted = adapt(seeded_net(classes=3), method, memory, capacity, num_classes=3, statistics=statistics)
    return adapted, list(evaluate(adapted, stream(**settings), reset, clock=clock))


@pytest.mark.parametrize(
    ("method", "memory", "passes"),
    [("source", "none", 1), ("norm", "fifo", 2), ("tent", "none", 3), ("tent", "fifo", 4)],
)
def test_methods_miss_what_their_passes_say(method, memory, passes):
    statistics = "source" if method == "tent" else None  # which make no trials
    _, found = records(method, memory, Clock(1.0), statistics=statistics)
    whole = [record.step for record in found if len(record.truth.label) == 16]
    assert [k for k in whole if not found[k].missed] == [k for k in whole if k % passes == 0]


def test_a_missed_batch_is_predicted_by_the_model_as_it_stands():
    adapted, found = records("tent", "fifo", Clock(1.0))
    missed = [record for record in found if record.missed]
    assert all(record.outcome.adaptations == 0 and (record.outcome.slots == -1).all() for record in missed)
    assert adapted.adaptations == len(found) - len(missed)
    alone = adapt(seeded_net(classes=3), "tent", "fifo", 16, num_classes=3)
    flow = stream()
    alone(flow.step(0).x)
    alone.freeze()
    for k in (1, 2, 3):
        assert found[k].missed
        assert torch.equal(found[k].outcome.prediction.logits, alone(flow.step(k).x))


def test_an_episode_begins_with_a_method_that_has_nothing_to_do():
    _, found = records("tent", "fifo", Clock(0.01), "each_domain", reset_at_domain=True)
    flow = stream(reset_at_domain=True)
    assert [r.step for r in found if not r.missed] == [k for k in range(len(flow)) if flow.starts_domain(k)]
