"""What a method is: it predicts, it adapts on the samples a memory holds, and it can go back to the source."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from gotta.cost import Cost
from gotta.errors import GottaError
from gotta.methods.normalization import batch_norms, batch_statistics
from gotta.registry import Registry
from gotta.types import MemoryBatch, Prediction

methods: Registry[type["Method"]] = Registry("method", "gotta.methods")


@dataclass(frozen=True)
class Statistics:
    """Where the statistics that normalise a prediction come from.

    `source`: the source model's own. `batch`: those of the batch that is predicted. `running`: an average that starts
    at the source's and moves by `rate` with every forward of what `fed_by` names, the test batches or the memory's.
    """

    source: Literal["source", "batch", "running"] = "source"
    fed_by: Literal["batch", "memory"] = "memory"
    rate: float = 0.05

    def __post_init__(self) -> None:
        if self.source not in ("source", "batch", "running"):
            raise GottaError(f"statistics='{self.source}' is unknown. Known: batch, running, source.")
        if self.fed_by not in ("batch", "memory"):
            raise GottaError(f"fed_by='{self.fed_by}' is unknown. Known: batch, memory.")
        if not 0 < self.rate <= 1:
            raise GottaError(f"rate={self.rate} is no share. Expected 0 < rate <= 1.")


class Method:
    """The base of all methods: owns the adapted model, its optimizer, and the snapshot that `reset` goes back to.

    A method says with `native` what it predicts with when there is no memory and with `paired` when there is one (the
    pairing of the paper), and overrides `configure` and `adapt`.
    """

    native: ClassVar[Statistics] = Statistics()
    paired: ClassVar[Statistics] = Statistics()
    follow: float = 0.0  # how fast the running statistics follow predictions made with batch statistics

    def __init__(self, model: nn.Module, statistics: Statistics | None = None, embed: str = "probs") -> None:
        self.model, self.embed = model, embed
        self.statistics = statistics or self.native
        self.cost = Cost()
        self.keep_graph = False  # set where the batch that is predicted is the very batch to adapt on
        self._kept: Tensor | None = None
        self.check(model)
        model.eval().requires_grad_(False)
        self.optimizer = self.configure()
        model.register_forward_hook(self._count)
        self._snapshot = deepcopy(self._state())

    def check(self, model: nn.Module) -> None:
        """Refuse a model on which this method would do nothing."""

    def configure(self) -> torch.optim.Optimizer | None:
        """Mark what is trained and give its optimizer, if anything is."""
        return None

    def predict(self, x: Tensor) -> Prediction:
        """The logits of a batch; nothing changes that a later prediction depends on."""
        keep = self.keep_graph and self.optimizer is not None and self.statistics.source == "batch"
        with torch.set_grad_enabled(keep), self._prediction_mode():
            logits, features = self._forward(x)
        self._kept = logits if keep else None
        return Prediction(logits.detach(), features, self.embed)

    def adapt(self, batch: MemoryBatch) -> dict[str, float]:
        """One adaptation on what the memory holds. What was measured on the way, by name."""
        return {}

    def feed(self, x: Tensor) -> None:
        """Move the running statistics by one forward of these samples."""
        with torch.no_grad(), batch_statistics(self.model, self.statistics.rate):
            self.model(x)

    def reset(self) -> None:
        """Back to the source, bit for bit."""
        self._kept = None
        self._restore(deepcopy(self._snapshot))

    def state_dict(self) -> dict[str, Any]:
        return deepcopy(self._state())

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._restore(deepcopy(dict(state)))

    @property
    def trained(self) -> dict[str, nn.Parameter]:
        """The parameters that adaptation may change, by name."""
        return {name: p for name, p in self.model.named_parameters() if p.requires_grad}

    @property
    def moves_statistics(self) -> bool:
        return self.statistics.source == "running" and bool(batch_norms(self.model))

    def training_logits(self, x: Tensor) -> Tensor:
        """The logits to compute a loss on, under the statistics of these samples.

        Where prediction and adaptation see the same batch, the forward of the prediction is used and not done again.
        """
        kept, self._kept = self._kept, None
        if kept is not None and len(kept) == len(x):
            return kept
        rate = self.statistics.rate if self.moves_statistics and self.statistics.fed_by == "memory" else 0.0
        with torch.enable_grad(), batch_statistics(self.model, rate):
            logits: Tensor = self.model(x)
        return logits

    def descend(self, loss: Tensor) -> None:
        """One step of the optimizer, or none where the loss is not finite."""
        assert self.optimizer is not None
        if not torch.isfinite(loss):
            return
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.cost.count(backwards=1)
        self.optimizer.step()
        self.optimizer.zero_grad()

    def _forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        if self.embed != "features":
            return self.model(x), None
        features, classify = getattr(self.model, "features", None), getattr(self.model, "classify", None)
        if features is None or classify is None:
            raise GottaError("embedding='features' needs a model with features(x) and classify(features). Use 'probs'.")
        found = features(x)
        self._count(self.model, (x,), found)
        return classify(found), found.detach()

    @contextmanager
    def _prediction_mode(self) -> Iterator[None]:
        if self.statistics.source == "batch":
            with batch_statistics(self.model, self.follow):
                yield
        else:
            yield

    def _count(self, module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
        self.cost.count(forwards=1, samples=len(inputs[0]))

    def _state(self) -> dict[str, Any]:
        optimizer = None if self.optimizer is None else self.optimizer.state_dict()
        return {"model": self.model.state_dict(), "optimizer": optimizer}

    def _restore(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        if self.optimizer is not None:
            self.optimizer.load_state_dict(state["optimizer"])
