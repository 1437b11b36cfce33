"""The control that knows the statistics of each domain beforehand."""

import numpy as np
import torch
from tiny import TinyData, seeded_net

from gotta import adapt
from gotta.core.domain_statistics import DomainStatistics, _together
from gotta.core.loop import evaluate
from gotta.streams import Stream, StreamSpec
from gotta.types import torch_images


def test_each_batch_is_normalised_with_the_statistics_of_the_domain_most_of_it_is_from():
    stream = Stream(TinyData(), StreamSpec.of(order="sorted", domains=TinyData.domains, batch_size=16))
    model = adapt(seeded_net(classes=3), "source")
    seen = {}
    for record in evaluate(model, stream, known=DomainStatistics(stream), reset="each_batch"):
        domain = int(torch.from_numpy(record.truth.domain).mode().values)
        mean = model.model.bn1.running_mean.clone()
        assert torch.equal(seen.setdefault(domain, mean), mean)
    assert len(seen) == 3
    for domain, name in enumerate(stream.domains):
        x = torch_images(stream.dataset.images(name, stream.index[stream.domain == domain]))
        torch.testing.assert_close(seen[domain], seeded_net(classes=3).conv1(x).mean((0, 2, 3)), atol=1e-5, rtol=1e-4)


def test_statistics_are_taken_in_mixed_batches_of_at_most_200():
    """The labels of a sorted domain, as the network meets them: every batch has all classes."""
    data = TinyData(150)
    stream = Stream(data, StreamSpec.of(order="sorted", domains=data.domains[:1], batch_size=16))
    shown = torch_images(data.images(data.domains[0], np.arange(450)))
    label = {bytes(x.numpy()): y for x, y in zip(shown, data.labels, strict=True)}
    model, batches = adapt(seeded_net(classes=3), "source"), []
    hook = model.method.model.register_forward_pre_hook(lambda net, given: batches.append(given[0]))
    DomainStatistics(stream).enter(model.method, 0)
    hook.remove()
    assert [len(x) for x in batches] == [150, 150, 150]
    for x in batches:
        assert {int(label[bytes(one.numpy())]) for one in x} == {0, 1, 2}


def test_the_statistics_of_a_domain_are_those_of_all_its_batches_as_one():
    x = torch.randn(4, 25, 3, generator=torch.Generator().manual_seed(0)) + torch.arange(4.0)[:, None, None]
    mean, var = _together([(part.mean(0), part.var(0, correction=0)) for part in x])
    torch.testing.assert_close(mean, x.flatten(0, 1).mean(0))
    torch.testing.assert_close(var, x.flatten(0, 1).var(0, correction=0))
