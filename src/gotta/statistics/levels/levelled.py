"""Statistics that are levels of the layers, moved by the predictions themselves."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from gotta.safe_text import tell_number
from gotta.state import Back
from gotta.statistics.interface import Lent, Statistics
from gotta.statistics.levels.class_statistics import ClassStatistics
from gotta.statistics.levels.look import look_ahead
from gotta.statistics.normalization import own_levels, tracked_norms
from gotta.types import Prediction


class Levelled(Statistics):
    """Levels of a network that has BatchNorm; of any other the network as it is. `classes` says whether these count."""

    watches = True
    classes: ClassVar[bool]
    levels: ClassStatistics | None = None

    @property
    def variances(self) -> Tensor | None:
        return None if self.levels is None else self.levels.var

    def attach(self, net: nn.Module) -> None:
        self.net = net
        self.levels = ClassStatistics(net, classes=self.classes) if tracked_norms(net) else None

    def predicting(self, net: nn.Module, moving: bool = True) -> Lent:
        return nullcontext() if self.levels is None else self.levels.applied(net)

    def training(self, net: nn.Module, moving: bool = True) -> Lent:
        return self.predicting(net)

    def watching(self, net: nn.Module) -> Lent:
        return nullcontext() if self.levels is None else self.levels.watching(net)

    def watch(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> Prediction:
        return predict() if self.levels is None else self.levels.watch(net, x, predict)

    def levels_for(self, net: nn.Module) -> tuple[Tensor, Tensor]:
        return own_levels(net) if self.levels is None else (self.levels.mean, self.levels.var)

    def look_ahead(self, x: Tensor, rows: Tensor, sizes: list[int]) -> Sequence[Any]:
        return super().look_ahead(x, rows, sizes) if self.levels is None else look_ahead(x, rows, sizes)

    def note(self, seen: Any) -> None:
        if self.levels is not None:
            self.levels.noted = seen

    def __copy__(self) -> Self:
        """Levels of the same network that go their own way."""
        made = type(self).__new__(type(self))
        vars(made).update(vars(self), levels=copy(self.levels))
        if made.levels is not None and not self.shared:
            made.levels.book = copy(made.levels.book)
        return made

    def know_home(self, net: nn.Module, x: Tensor, predict: Callable[[], Prediction]) -> None:
        if self.levels is not None:
            self.levels.know_home(net, x, predict)

    @property
    def counts(self) -> Tensor | None:
        return None if self.levels is None else self.levels.counts

    def resting(self) -> Lent:
        return nullcontext() if self.levels is None else self.levels.resting()

    def learn(self, label: Tensor, num_classes: int) -> None:
        if self.levels is not None:
            self.levels.learn(label, num_classes)

    def measure(self) -> dict[str, float]:
        return {} if self.levels is None else {"jumps": float(self.levels.jumps), "away": float(self.levels.away)}

    def describe(self) -> list[str]:
        levels = self.levels
        if levels is None:
            return []
        layers, jumps = tell_number(len(levels.sizes), "BatchNorm layer"), tell_number(levels.jumps, "jump")
        where = "of a found domain" if levels.away else "of the source"
        return [f"levels of {layers}: {where}, {jumps}, {levels.num_bytes:,} bytes{levels.grouping}"]

    def record(self) -> Back:
        saved = self.state_dict()  # whose tensors are exchanged, never changed in place
        return lambda: self.load_state_dict(saved)

    def check(self, classes: int) -> None:
        if self.levels is not None:
            self.levels.check(classes)

    def state_dict(self) -> dict[str, Any]:
        return {} if self.levels is None else self.levels.state_dict()

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        """On the device where the network is now. Raises unless these are levels of such a network."""
        if self.levels is not None:
            self.levels.load_state_dict(saved, self.net)
