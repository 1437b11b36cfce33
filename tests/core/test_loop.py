import numpy as np
import pytest
import torch
from tiny import TinyData, seeded_net

from gotta import adapt
from gotta.core.adapted import Adapted
from gotta.core.clock import Clock
from gotta.core.loop import evaluate
from gotta.core.true_labels import TRUE_LABELS, TrueLabelMemory
from gotta.methods import methods
from gotta.streams import Stream, StreamSpec

DOMAINS = ("clean", "dark-5", "bright-5")


def stream(**settings):
    return Stream(TinyData(), StreamSpec(domains=DOMAINS, batch_size=16, **settings))


def model(method="tent", memory="fifo"):
    return adapt(seeded_net(classes=3), method, memory, None if memory == "none" else 8, num_classes=3)


def logits(records):
    return torch.cat([record.outcome.prediction.logits for record in records])


def test_every_sample_is_predicted_once_in_stream_order():
    flow = stream()
    records = list(evaluate(model(), flow))
    assert np.array_equal(np.concatenate([record.truth.index for record in records]), flow.index)
    assert len(logits(records)) == flow.num_samples


def test_resets_at_each_domain_make_domains_independent():
    flow = stream(reset_at_domain=True)
    adapted = model()
    reset = logits(evaluate(adapted, flow, "each_domain"))
    last = flow.domain == 2
    alone = Stream(TinyData(), StreamSpec(domains=DOMAINS, batch_size=16, reset_at_domain=True))
    first = next(k for k in range(len(alone)) if alone.step(k).truth.domain[0] == 2)
    again = logits(evaluate(model(), alone, "each_domain", first))
    assert torch.equal(reset[torch.from_numpy(last)], again)
    assert not torch.equal(logits(evaluate(model(), flow)), reset)


def test_resets_at_each_batch_make_batches_independent():
    flow = stream()
    whole = logits(evaluate(model("tent", "none"), flow, "each_batch"))
    start = flow.batches[3].start
    assert torch.equal(whole[start:], logits(evaluate(model("tent", "none"), flow, "each_batch", 3)))


@pytest.mark.parametrize(
    ("method", "memory"),
    [
        ("source", "none"),
        ("deskew", "none"),
        *((method, memory) for method in ("norm", "tent") for memory in ("none", "fps")),
    ],
)
def test_true_labels_reach_nobody(method, memory):
    """With other true labels (and the very same images in the same order) every prediction is the same."""
    honest = stream()
    lied = stream()
    lied.label = np.roll(honest.label, 7)
    first, second = (logits(evaluate(model(method, memory), s)) for s in (honest, lied))
    assert torch.equal(first, second)


@pytest.mark.parametrize("policy", sorted(TRUE_LABELS.values()))
def test_a_memory_by_true_labels_holds_the_classes_in_balance(policy):
    flow = stream(order="sorted")
    net = seeded_net(classes=3)
    told = Adapted(methods.build("norm", model=net), TrueLabelMemory(policy, 9, 3), 9)
    list(evaluate(told, flow))
    held = told.memory.batch()
    assert np.bincount(held.label.numpy(), minlength=3).tolist() == [3, 3, 3]
    colour = held.x.mean((2, 3)).argmax(1)  # of TinyData, the colour tells the class
    assert torch.equal(colour, held.label)


class TinyVideo(TinyData):
    """Ten clips of six frames, each of one class."""

    clips = np.repeat(np.arange(10), 6)

    def __init__(self):
        super().__init__()
        self.labels = self.clips % 3


def test_a_prior_is_told_where_the_clips_of_a_stream_begin_unless_they_are_hidden():
    settings = {"domains": DOMAINS, "batch_size": 16}
    told, hidden = (
        Stream(TinyVideo(), StreamSpec(**settings, boundaries=boundaries)) for boundaries in ("told", "hidden")
    )
    adapted, alone = adapt(seeded_net(classes=3), prior="ema"), adapt(seeded_net(classes=3), prior="ema")
    first = torch.from_numpy(told.clip_starts)
    assert len(first) == 30
    with_starts = [record.outcome.prediction for record in evaluate(adapted, told)]
    without = logits(evaluate(alone, hidden))
    raw = torch.cat([prediction.raw.logits for prediction in with_starts])
    got = torch.cat([prediction.logits for prediction in with_starts])
    torch.testing.assert_close(got[first], raw[first].log_softmax(1))
    assert not torch.allclose(without[first], raw[first].log_softmax(1), atol=1e-3)
    steps = [told.told_starts(k) for k in range(len(told))]
    assert np.flatnonzero(np.concatenate(steps)).tolist() == told.clip_starts.tolist()
    assert hidden.told_starts(0) is None


def test_a_clip_that_begins_while_the_method_is_busy_is_told_too():
    class Busy(Clock):
        def ready(self, step):
            return step != 1

    flow = Stream(TinyVideo(), StreamSpec(domains=DOMAINS, batch_size=12, boundaries="told"))
    adapted = adapt(seeded_net(classes=3), prior="sticky")
    records = evaluate(adapted, flow, clock=Busy())
    next(records)
    assert next(records).missed
    belief = adapted.method.prior.belief
    assert np.array_equal(belief.last, belief.marginal)
