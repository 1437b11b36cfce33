"""What statistics are: they say what BatchNorm layers normalise with when a network predicts and is trained."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gotta.registry import Registry
from gotta.state import Stateful
from gotta.types import MemoryBatch, Prediction

Lent = AbstractContextManager[Any]  # what is inside has other statistics, or looks on


class Statistics(Stateful):
    """The base of all statistics. New ones say with `predicting` and `training` how a network normalises inside.

    Statistics that learn from the samples they predict look on in `watching` and move in `learn`, once the labels are
    known; every other forward must leave them as they are. Arguments of the constructor are hyper-parameters. A model
    is built with a copy, so that one object may serve several models.

    >>> from contextlib import contextmanager
    >>> from gotta.statistics import Statistics, tracked_norms
    >>> class Wider(Statistics):
    ...     @contextmanager
    ...     def predicting(self, net, moving=True):
    ...         layers = tracked_norms(net)
    ...         own = [layer.running_var for layer in layers]
    ...         try:
    ...             for layer in layers:
    ...                 layer.running_var = 2 * layer.running_var
    ...             yield
    ...         finally:
    ...             for layer, var in zip(layers, own):
    ...                 layer.running_var = var
    >>> Wider.name
    'wider'
    """

    watches: ClassVar[bool] = False  # whether it is moved by the samples that are predicted, by itself
    needs_batch: ClassVar[bool] = False  # whether a prediction depends on the other samples of its batch
    fed_by: str | None = None  # whose forwards move running statistics in the network: "batch" or "memory"
    rate: float = 0.05  # by which these move with one forward
    keeps_moments: ClassVar[bool] = False  # whether a memory holds what layers saw of samples, and not the samples
    # Then: a row for each sample that was learned last and counts, [m, D], and where in the batch it was, [m].
    moments: tuple[Tensor, Tensor]
    outdated: bool  # whether what the memory holds no longer fits what was learned last
    shared: tuple[str, ...] = ()  # what of the state belongs to all streams of a model, by name
    follow: float = 0.0  # how fast the network's running statistics move with predictions

    @property
    def variances(self) -> Tensor | None:
        """What they divide by, where they keep that: exchanged as a whole when they move."""
        return None

    @property
    def domain(self) -> int | None:
        """The domain that was found, by number: 0 at home, the source's; None where they do not look for one."""
        return None

    def check(self, classes: int) -> None:
        """Raises unless what is known of classes is of so many."""

    def attach(self, net: nn.Module) -> None:
        """Begin at the source's statistics of this network."""

    def predicting(self, net: nn.Module, moving: bool = True) -> Lent:
        """Predictions inside. Unless `moving`, they leave the network's own statistics as they are."""
        return nullcontext()

    def training(self, net: nn.Module, moving: bool = True) -> Lent:
        """Forwards inside are for a loss."""
        return nullcontext()

    def feeding(self, net: nn.Module) -> Lent:
        """Forwards inside move running statistics and do nothing else."""
        return nullcontext()

    def watching(self, net: nn.Module) -> Lent:
        """Look at the prediction of the next samples."""
        return nullcontext()

    def watch(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> Prediction:
        """Predict the next samples, `x`, as often as it takes, and look on. The prediction to use."""
        with self.watching(net):
            return predict()

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor] | None:
        """Mean and variance that a prediction normalises with, of all tracked layers side by side, [P] each.

        None where there are none, such as where the batch decides: then each stream has forwards of its own.
        """
        return None

    def look_ahead(self, x: Tensor, rows: Tensor, sizes: list[int]) -> Sequence[Any]:
        """What `note` is given in each stream, of one forward of several streams with so many samples each.

        `rows` is what the layers saw of each sample: mean and mean square of all channels side by side, [2, B, P].
        """
        return [None] * len(sizes)

    def note(self, seen: Any) -> None:
        """What was seen of the next samples, in a forward that was made together with that of other streams."""

    def know_home(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> None:
        """See some clean samples, `x`, which the network was made for."""

    @property
    def counts(self) -> Tensor | None:
        """Which of the samples that were watched count, [n], for the prior as well; all where None."""
        return None

    def resting(self) -> Lent:
        """While the network predicts other samples, in the midst of what is watched."""
        return nullcontext()

    def learn(self, label: Tensor, num_classes: int) -> None:
        """Count what was watched, now that its labels are known."""

    def offer(self, take_in: Callable[..., Any], columns: Sequence[Tensor], part: slice) -> Tensor:
        """Offer a memory the moments of the samples that count in a part of the batch; the slots."""
        rows, which = self.moments
        inside = (which >= part.start) & (which < part.stop)
        rows, which = rows[inside], which[inside] - part.start
        slots = torch.full((part.stop - part.start,), -1)
        if len(rows):
            chosen = (column[which.to(column.device)] for column in columns)
            slots[which.cpu()] = torch.as_tensor(take_in(rows, *chosen))
        return slots

    def read(self, held: MemoryBatch) -> None:
        """Move by the moments that a memory holds."""

    def measure(self) -> dict[str, float]:
        """What is thought of the stream, by name."""
        return {}

    def describe(self) -> list[str]:
        """The same in words."""
        return []


statistics: Registry[type[Statistics]] = Registry(
    "statistics",
    "gotta.statistics",
    lambda cls: issubclass(cls, Statistics),
    "a subclass of gotta.statistics.Statistics",
)
