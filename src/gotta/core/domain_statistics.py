"""The limit of what statistics can give: those of the whole domain, known before its first sample.

It exists for the evaluation only, because nobody else knows where domains begin or what will come.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from gotta.methods import Method
from gotta.statistics.normalization import batch_statistics, tracked_norms
from gotta.streams import Stream
from gotta.streams.stream import shown
from gotta.types import IntArray, torch_images

BATCH = 200  # samples that are normalised together where the statistics are taken


class DomainStatistics:
    """Gives a method's networks, before each step, the statistics of the visit that most of its samples are from."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._visit: int | None = None
        self._found: dict[str, list[tuple[Tensor, Tensor]]] = {}  # by network, mean and variance of each layer

    @torch.no_grad()
    def enter(self, method: Method, step: int) -> None:
        visit, places = self._visit_of(step)
        if visit != self._visit:
            self._visit = visit
            self._found = {name: self._measure(net, places) for name, net in method.networks().items()}
        for name, net in method.networks().items():
            for layer, (mean, var) in zip(tracked_norms(net), self._found[name], strict=True):
                layer._buffers["running_mean"].copy_(mean)  # type: ignore[union-attr]
                layer._buffers["running_var"].copy_(var)  # type: ignore[union-attr]

    def _visit_of(self, step: int) -> tuple[int, IntArray]:
        """The number of the visit, and the places in the stream of all its samples."""
        starts, batch = np.asarray(self.stream.starts), self.stream.batches[step]
        visits = np.searchsorted(starts, np.arange(batch.start, batch.stop), side="right") - 1
        visit = int(np.bincount(visits).argmax())
        stop = starts[visit + 1] if visit + 1 < len(starts) else self.stream.num_samples
        return visit, np.arange(starts[visit], stop)

    def _measure(self, net: nn.Module, places: IntArray) -> list[tuple[Tensor, Tensor]]:
        """Mean and variance of every layer, in random order of the samples so that each batch has all classes."""
        layers, parts = tracked_norms(net), []
        if not layers:
            return []
        rows = np.random.default_rng(0).permutation(places)
        for part in np.array_split(rows, -(-len(rows) // BATCH)):
            names = [self.stream.domains[d] for d in self.stream.domain[part]]
            x = torch_images(shown(self.stream.dataset, (names, self.stream.index[part])))
            with batch_statistics(net, 1.0):
                net(x.to(next(net.parameters()).device))
            parts.append([(layer.running_mean.clone(), layer.running_var.clone()) for layer in layers])  # type: ignore[union-attr]
        return [_together(column) for column in zip(*parts, strict=True)]


def _together(parts: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
    """Mean and variance of all batches as one, by the law of total variance."""
    means, variances = (torch.stack(column) for column in zip(*parts, strict=True))
    return means.mean(0), variances.mean(0) + means.var(0, correction=0)
