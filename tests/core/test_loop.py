import numpy as np
import pytest
import torch
from tiny import TinyData, seeded_net

from gotta import adapt
from gotta.core.adapted import Adapted
from gotta.core.loop import TRUE_LABELS, TrueLabelMemory, evaluate
from gotta.methods import methods
from gotta.streams import Stream, StreamSpec

DOMAINS = ("clean", "dark-5", "bright-5")


def stream(**settings):
    return Stream(TinyData(), StreamSpec(domains=DOMAINS, batch_size=16, **settings))


def model(method="tent", memory="fifo"):
    return adapt(seeded_net(classes=3), method, memory, 8, num_classes=3)


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
    adapted = [adapt(seeded_net(classes=3), method, memory, 8, num_classes=3) for _ in range(2)]
    first, second = (logits(evaluate(m, s)) for m, s in zip(adapted, (honest, lied), strict=True))
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
