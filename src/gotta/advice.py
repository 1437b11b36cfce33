"""Which method and memory for a network and a stream: what did best in the situation that was measured nearest to it.

`advice.yaml` keeps what was measured; `python -m gotta.report.choosing` writes it from runs of the recipe `choosing`.
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from math import inf, isfinite, log
from pathlib import Path
from typing import Any

from torch import nn

from gotta.errors import GottaError, NoEffect
from gotta.methods import methods
from gotta.methods.parts.normalization import has_batch_norm
from gotta.reading import parse_yaml

FILE = Path(__file__).with_suffix(".yaml")
SOURCE = {"method": "source"}
CLOSE = 1.0  # points that are not worth another forward


@dataclass(frozen=True)
class Line:
    """A call of `gotta.adapt` and what it reached; `passes` are forwards for each sample, a backward being two."""

    arguments: Mapping[str, Any]
    accuracy: float
    passes: float

    @property
    def uses_order(self) -> bool:
        """Does the prediction of a sample depend on those before it through a prior?"""
        usual = methods.get(self.arguments["method"]).native_prior
        return str(self.arguments.get("prior", usual)) != "none"

    @property
    def call(self) -> str:
        given = {**self.arguments}
        if given == {"method": "deskew"}:
            given = {}
        return f"gotta.adapt({', '.join(['net', *(f'{name}={_quote(value)}' for name, value in given.items())])})"


@dataclass(frozen=True)
class Situation:
    """A kind of network, a mean length of class runs, a batch size; and the lines measured there, the best first."""

    layers: str  # BatchNorm, GroupNorm or LayerNorm
    run_length: float
    batch_size: int
    lines: tuple[Line, ...]

    def __str__(self) -> str:
        classes = "in random order" if self.run_length < 2 else f"in runs of {self.run_length:.0f} samples on average"
        batches = "single images" if self.batch_size == 1 else f"batches of {self.batch_size}"
        return f"{self.layers}, classes {classes}, {batches}"

    def choose(self, budget: float = inf, order: bool = True) -> Line | None:
        """The cheapest of those within a point of the best, the network as it is before others that cost the same.

        With `order=False` only lines that do not use the order of samples.
        """
        able = [line for line in self.lines if line.passes <= budget and (order or not line.uses_order)]
        best = max((line.accuracy for line in able), default=0.0)
        near = [line for line in able if line.accuracy > best - CLOSE]
        return min(near, key=lambda line: (line.passes, line.arguments != SOURCE, -line.accuracy), default=None)

    @property
    def source(self) -> float:
        """The accuracy of the network as it is."""
        return next(line.accuracy for line in self.lines if line.arguments == SOURCE)


@dataclass(frozen=True)
class Advice:
    """The measured situations nearest to the one asked for, one or, where the class runs are not known, more."""

    layers: str
    situations: tuple[Situation, ...]
    budget: float
    measured_on: str

    def __str__(self) -> str:
        parts = [f"The network has {self.layers}. Measured nearest to it:"]
        parts += [self._tell(situation) for situation in self.situations]
        return "\n\n".join([*parts, self.measured_on])

    def _tell(self, situation: Situation) -> str:
        best = situation.choose(self.budget)
        if best is None:
            return f"{situation}\n  nothing was measured within {self.budget:g} forwards for each sample"
        alone = situation.choose(self.budget, order=False) if best.uses_order else None
        told = [self._tell_line(line, situation.source) for line in (best, alone) if line is not None]
        return "\n".join([str(situation), *told])

    def _tell_line(self, line: Line, source: float) -> str:
        remark = "; uses the order of samples" if line.uses_order else ""
        reached = "as it is" if line.arguments == SOURCE else f"the network as it is: {source:.1f} %"
        return (
            f"  {line.call}\n    {line.accuracy:.1f} % ({reached}), {line.passes:.1f} forwards for each sample{remark}"
        )


@cache
def measured() -> tuple[dict[str, Any], tuple[Situation, ...]]:
    """What it was measured on, and every situation."""
    content = parse_yaml(FILE.read_text())
    return content["measured_on"], tuple(
        Situation(**{**found, "lines": tuple(Line(**line) for line in found["lines"])})
        for found in content["situations"]
    )


def advise(
    model: nn.Module, run_length: float | None = None, batch_size: int = 64, budget: float | None = None
) -> Advice:
    """What to adapt this model with, on streams in which a class comes so many times in a row on average.

    Without `run_length`, for streams with and without class runs. `budget` is the number of forwards for each sample
    that may be spent, a backward being two.
    """
    _check(run_length, batch_size, budget)
    layers = name_layers(model)
    on, situations = measured()
    known = [found for found in situations if found.layers == layers] or [
        found for found in situations if found.layers != "BatchNorm"
    ]
    size = min({found.batch_size for found in known}, key=lambda size: abs(log(size / batch_size)))
    lengths = sorted({found.run_length for found in known if found.batch_size == size})
    if run_length is not None:
        lengths = [min(lengths, key=lambda length: abs(log(length / run_length)))]
    idle = _list_idle(model, known)
    chosen = [
        Situation(
            found.layers,
            found.run_length,
            size,
            tuple(line for line in found.lines if line.arguments["method"] not in idle),
        )
        for length in lengths
        for found in known
        if (found.run_length, found.batch_size) == (length, size)
    ]
    return Advice(layers or "no normalisation layers", tuple(chosen), budget or inf, tell_measured_on(on))


def name_layers(model: nn.Module) -> str:
    """Which kind of normalisation it has, as the situations call it; empty for none."""
    kinds = {type(module).__name__ for module in model.modules()}
    if has_batch_norm(model):
        return "BatchNorm"
    return next((kind for kind in ("GroupNorm", "LayerNorm") if kind in kinds), "")


def tell_measured_on(on: Mapping[str, Any]) -> str:
    return (
        f"Measured with {', '.join(on['models'])} on {on['data']}, {', '.join(on['domains'])} at severity "
        f"{on['severity']}, {on['images']:,} images each, {on['seeds']} {'seed' if on['seeds'] == 1 else 'seeds'}. "
        f"Lines less than {CLOSE:g} point apart count as equal, and the cheaper one is named. "
        "Your stream is another one: compare on it (docs/dropin.md), and switch the guard on."
    )


def _list_idle(model: nn.Module, known: Sequence[Situation]) -> set[str]:
    """The methods that have nothing to do on this network."""
    idle = set()
    for name in {str(line.arguments["method"]) for found in known for line in found.lines}:
        try:
            methods.build(name, model=deepcopy(model))
        except NoEffect:
            idle.add(name)
    return idle


def _check(run_length: float | None, batch_size: int, budget: float | None) -> None:
    for name, value, least in (("run_length", run_length, 1), ("batch_size", batch_size, 1), ("budget", budget, 1)):
        if value is not None and not (isinstance(value, int | float) and isfinite(value) and value >= least):
            raise GottaError(f"{name} must be a number of at least {least} (got {value!r}).")


def _quote(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
