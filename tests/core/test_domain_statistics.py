"""The control that knows the statistics of each domain beforehand."""

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


def test_the_statistics_of_a_domain_are_those_of_all_its_batches_as_one():
    x = torch.randn(4, 25, 3, generator=torch.Generator().manual_seed(0)) + torch.arange(4.0)[:, None, None]
    mean, var = _together([(part.mean(0), part.var(0, correction=0)) for part in x])
    torch.testing.assert_close(mean, x.flatten(0, 1).mean(0))
    torch.testing.assert_close(var, x.flatten(0, 1).var(0, correction=0))
