"""Forwards and backwards of a network: counted, under the statistics that are due, and read as logits."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from gotta.cost import Cost
from gotta.methods.parts.class_statistics import ClassStatistics
from gotta.methods.parts.features import forward_with_features
from gotta.methods.parts.following import Following
from gotta.methods.parts.normalization import ONE_VALUE, batch_statistics, has_batch_norm, running_statistics
from gotta.methods.parts.outputs import find_logits, logits_of
from gotta.methods.parts.params import make_optimizer
from gotta.methods.parts.row_weights import counting_rows
from gotta.methods.settings import Statistics


class Passes:
    """The passes of a method through its networks. The method owns what they work on and decides when they are made."""

    model: nn.Module
    embed: str
    needs_features: ClassVar[bool]
    hyper: SimpleNamespace
    statistics: Statistics
    follow: float
    following: Following
    optimizer: torch.optim.Optimizer | None
    cost: Cost
    output_type: torch.dtype | None
    _kept: Tensor | None

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that adaptation may change, by name."""
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    @property
    def moves_statistics(self) -> bool:
        return self.statistics.source == "running" and has_batch_norm(self.model)

    @property
    def levels(self) -> ClassStatistics | None:
        """The statistics of BatchNorm where these are `class` or `gated`."""
        return self.following.levels

    def logits(self, x: Tensor, net: nn.Module | None = None) -> Tensor:
        """One counted forward, in whatever mode the network is."""
        net = self.model if net is None else net
        self.cost.count(forwards=1, samples=len(x))
        try:
            return self._read(net(x))
        except ValueError as error:
            if len(x) > 1 or not str(error).startswith(ONE_VALUE):
                raise
        # One row of 1 x 1 maps has no statistics of its own, so those there are must do.
        with running_statistics(net):
            return self._read(net(x))

    def training_logits(
        self, x: Tensor, net: nn.Module | None = None, moving: bool = True, weight: Tensor | None = None
    ) -> Tensor:
        """The logits to compute a loss on, under the statistics of these samples.

        Where prediction and adaptation see the same batch, the forward of the prediction is used and not done again.
        Unless `moving`, the forward leaves running statistics as they are. `weight` says how often each sample counts.
        """
        net = self.model if net is None else net
        kept, self._kept = self._kept, None
        if kept is not None and net is self.model and len(kept) == len(x):
            return kept
        with torch.enable_grad(), self._training_mode(net, moving), counting_rows(net, weight):
            return self.logits(x, net)

    def descend(self, loss: Tensor) -> None:
        """One step of the optimizer, or none where the loss is not finite."""
        if torch.isfinite(loss):
            self.backward(loss)
            self.step()

    def backward(self, loss: Tensor) -> None:
        assert self.optimizer is not None
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.cost.count(backwards=1)

    def step(self) -> None:
        assert self.optimizer is not None
        self.optimizer.step()
        self.optimizer.zero_grad()

    def coast(self) -> None:
        """A step with gradient zero: what published code does where nothing was selected. Momentum still moves."""
        for parameter in self.trained.values():
            parameter.grad = torch.zeros_like(parameter)
        self.step()

    def make_optimizer(self, parameters: list[nn.Parameter], weight_decay: float = 0.0) -> torch.optim.Optimizer:
        return make_optimizer(self.hyper.optimizer, parameters, self.hyper.lr, weight_decay)

    def _forward(self, net: nn.Module, x: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.embed != "features" and not self.needs_features:
            return self.logits(x, net), None
        self.cost.count(forwards=1, samples=len(x))
        output, features = forward_with_features(net, x)
        return self._read(output), features

    def _read(self, output: Any) -> Tensor:
        self.output_type = find_logits(output).dtype
        return logits_of(output)

    @contextmanager
    def _prediction_mode(self, net: nn.Module) -> Iterator[None]:
        if self.levels is not None:
            with self.levels.applied(net):
                yield
        elif self.statistics.source == "batch":
            with batch_statistics(net, self.follow):
                yield
        else:
            yield

    @contextmanager
    def _training_mode(self, net: nn.Module, moving: bool = True) -> Iterator[None]:
        if self.levels is not None:
            with self.levels.applied(net):
                yield
        elif self.statistics.source == "source" or self.statistics.by_level:
            yield
        else:
            moving = moving and self.moves_statistics and self.statistics.fed_by == "memory"
            with batch_statistics(net, self.statistics.rate if moving else 0.0):
                yield
