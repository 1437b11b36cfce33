"""What a method knows of the stream besides its networks: the levels of its statistics, and the prior over classes.

Only the scored prediction of a step moves either: `watching` while the network predicts, `follow` once its logits are
accepted. `capture` and `restore` are for taking a step back.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import nn

from gotta.errors import unknown
from gotta.methods.parts.class_statistics import ClassStatistics
from gotta.methods.parts.normalization import tracked_norms
from gotta.methods.parts.prior import LABELS, make_prior
from gotta.printable import tell_number
from gotta.types import Prediction


class Following:
    """Levels (`class` or `gated` statistics, on a network that has BatchNorm) and a prior, which may be none."""

    def __init__(self, statistics: str, prior: str, labels: str, order_in_batch: str, net: nn.Module) -> None:
        if labels not in LABELS:
            raise unknown("labels", labels, LABELS)
        self.prior, self.labels = make_prior(prior, order_in_batch), labels
        self.levels: ClassStatistics | None = None
        if statistics in ("class", "gated") and tracked_norms(net):
            self.levels = ClassStatistics(net, classes=statistics == "class")

    @contextmanager
    def watching(self, net: nn.Module) -> Iterator[None]:
        """Look at the prediction of the next samples."""
        if self.levels is None:
            yield
        else:
            with self.levels.watching(net):
                yield

    @contextmanager
    def resting(self) -> Iterator[None]:
        """While the network predicts other samples, in the midst of what is watched."""
        if self.levels is None:
            yield
        else:
            with self.levels.resting():
                yield

    def follow(self, raw: Prediction) -> Prediction:
        """Move prior and levels by the prediction that was watched, and give the one to use."""
        prediction = self.prior.follow(raw)
        if self.levels is not None:
            self.levels.learn(self.as_labels(prediction).label, raw.logits.shape[1])
        return prediction

    def as_labels(self, prediction: Prediction) -> Prediction:
        """The prediction that memory and statistics take labels from."""
        return prediction if self.labels == "filtered" else prediction.raw

    def measure(self) -> dict[str, float]:
        """What is thought of the stream, by name."""
        found = {} if self.prior.stickiness is None else {"stickiness": self.prior.stickiness}
        return found if self.levels is None else {**found, "jumps": float(self.levels.jumps)}

    def describe(self) -> list[str]:
        """The same in words."""
        lines = []
        if self.prior.name != "none":
            s = "" if self.prior.stickiness is None else f", stickiness s={self.prior.stickiness:.2f}"
            lines.append(f"prior={self.prior.name}: predictions use the order of samples{s}")
        if self.levels is not None:
            levels = self.levels
            layers, jumps = tell_number(len(levels.sizes), "BatchNorm layer"), tell_number(levels.jumps, "jump")
            lines.append(f"levels of {layers}, {jumps}, {levels.num_bytes:,} bytes{levels.grouping}")
        return lines

    def state_dict(self) -> dict[str, Any]:
        """Empty if there is nothing to keep; the tensors in it are never changed in place."""
        return {
            **({} if self.levels is None else {"levels": self.levels.state_dict()}),
            **({} if self.prior.name == "none" else {"prior": self.prior.state_dict()}),
        }

    def load_state_dict(self, state: Mapping[str, Any], net: nn.Module) -> None:
        if self.levels is not None:
            self.levels.load_state_dict(state["levels"], net)
        if self.prior.name != "none":
            self.prior.load_state_dict(state["prior"])
