"""Which method and memory for a network and a stream: the candidates are run on both, and the best one is named.

The candidates are the cells of the recipe `advise`. With labels they are judged by accuracy. Without labels there are
signs of it, which are weaker evidence.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Annotated, Any

from gotta.core.build import adapt
from gotta.core.clock import BACKWARD
from gotta.errors import GottaError
from gotta.experiment.spec.text import merged, sections
from gotta.limits import Within, require
from gotta.methods import methods
from gotta.report.cells import MARKS, ORDER
from gotta.report.pairs import difference
from gotta.report.stored_run import Run
from gotta.report.tables.choices import SURROGATES, Surrogate
from gotta.safe_text import tell_few
from gotta.workflow.bench_plan import Listener
from gotta.workflow.calls import Asked, bench

RECIPE = "advise"
USUAL = inspect.signature(adapt).parameters["method"].default
CLOSE = 1.0  # points of accuracy that are not worth another forward
SIGN = "information"  # what candidates are judged by where there are no labels
OWN = {"order": "iid", "domains": "clean", "per_class": None}  # of a folder of one's own: its images as they are
CLASS_ORDER = "Folders in alphabetical order are classes 0, 1, 2, ...; class_index=FILE.json gives them other numbers."
NAMED = 5  # classes that a doubt names
Budget = Annotated[float, Within(1)] | None
WORTH = (
    "No sign is accuracy. A model that gives nearly every sample the same class is certain of it, which is why "
    "information decides and not entropy; agreement prefers to change nothing. Label a few hundred samples to know."
)


@dataclass(frozen=True)
class Candidate:
    """A line of `gotta.adapt`, and the run that says what it does here."""

    run: Run

    @cached_property
    def call(self) -> str:
        return write_call(list_arguments(self.run))

    @property
    def accuracy(self) -> float:
        return self.run.accuracy or 0.0

    @cached_property
    def passes(self) -> float:
        """Forwards for each sample, a backward being two."""
        cost = self.run.stored.summary["cost"].items()
        phases = {name: phase for name, phase in cost if isinstance(phase, Mapping) and name != "total"}
        return count_passes(phases) / sum(domain.samples for domain in self.run.summary.online.domains)

    @property
    def uses_order(self) -> bool:
        return self.run.uses_order

    @property
    def is_source(self) -> bool:
        return list_arguments(self.run) == {"method": "source"}


@dataclass(frozen=True, repr=False)
class Advice:
    """What was measured of each candidate, and which of them to take."""

    candidates: tuple[Candidate, ...]
    budget: float
    labels: bool
    folder: Path

    @cached_property
    def best(self) -> Candidate:
        return self.choose()

    def choose(self, order: bool = True) -> Candidate:
        """The cheapest of those within a point of the best, the network as it is before others that cost the same.

        With `order=False` only those that do not use the order of samples. Without labels, the one with the best sign.
        """
        able = [one for one in self.candidates if one.passes <= self.budget and (order or not one.uses_order)]
        if not able:
            raise GottaError(f"no candidate takes at most {self.budget:g} forwards for each sample. Raise the budget.")
        if not self.labels:
            return max(able, key=lambda one: _sign(SURROGATES[SIGN], one.run))
        most = max(one.accuracy for one in able)
        near = [one for one in able if one.accuracy > most - CLOSE]
        return min(near, key=lambda one: (round(one.passes, 1), not one.is_source, -one.accuracy))

    @cached_property
    def source(self) -> Candidate:
        return next(one for one in self.candidates if one.is_source)

    def __str__(self) -> str:
        """The line to write, its margin and its cost; then what it was measured on."""
        chosen = [self.best, self.choose(order=False)] if self.best.uses_order else [self.best]
        lines = [line for one in chosen for line in (one.call, f"  {self._tell(one)}")]
        return "\n".join([*lines, *(self._doubts() if self.labels else [WORTH]), self._tell_stream()])

    __repr__ = __str__

    def _doubts(self) -> list[str]:
        """What is probably wrong where the network as it is knows next to nothing, or numbers its classes otherwise."""
        summary = self.source.run.stored.summary
        chance = 100 / summary["stream"]["classes"]
        if self.source.accuracy <= 1.5 * chance:
            return [
                f"The network as it is gets {self.source.accuracy:.1f} %, close to chance ({chance:.1f} %). Check the "
                f"size and preprocessing of the images (gotta doctor), and the order of classes: {CLASS_ORDER}"
            ]
        swapped = find_swapped(summary["online"].get("classes", ()), summary["online"].get("predicted", ()), chance)
        told = (
            f"The network as it is often predicts classes {tell_few(list(map(str, swapped)), NAMED)}, and is almost "
            f"never right about them. Are its classes those of the data? {CLASS_ORDER}"
        )
        return [told] if swapped else []

    def _tell(self, one: Candidate) -> str:
        order = f", {MARKS[ORDER]}" if one.uses_order else ""
        cost = f"{one.passes:.1f} forwards for each sample{order}"
        if not self.labels:
            signs = {name: _sign(surrogate, one.run) for name, surrogate in SURROGATES.items()}
            return f"{', '.join(f'{name} {value:.3g}' for name, value in signs.items())}; {cost}"
        if one.is_source:
            return f"{one.accuracy:.1f} %: leave the network as it is; {cost}"
        return f"{one.accuracy:.1f} %, {self._margin(one)} above the network as it is; {cost}"

    def _margin(self, one: Candidate) -> str:
        found = difference([one.run], [self.source.run]).estimate
        half = "" if found is None or found.half is None else f" ± {found.half:.1f}"
        return f"{one.accuracy - self.source.accuracy:.1f}{half} points"

    def _tell_stream(self) -> str:
        run = self.best.run
        told, domains = run.stored.summary["stream"], [domain.name for domain in run.summary.online.domains]
        return (
            f"Measured on {told['samples']:,} samples of {run.spec.data.name} ({', '.join(dict.fromkeys(domains))}) "
            f"with {run.spec.model.name}: classes in runs of {told['class_run_mean']:.1f} samples on average, batches "
            f"of {run.spec.regime.batch_size}. Runs: {self.folder}"
        )


def advise(
    model: str | Mapping[str, Any],
    data: str | Mapping[str, Any] | None = None,
    *,
    settings: Mapping[str, Any] | Sequence[str] = (),
    budget: float | None = None,
    labels: bool = True,
    seeds: Sequence[int] = (),
    out: str | Path = "runs/advise",
    jobs: int = 1,
    device: str = "cpu",
    listen: Listener = lambda event: None,
) -> Advice:
    """Run the candidates on a network and a stream: `print(gotta.advise("my_nets:build", {"name": "folder", ...}))`.

    `model` is a name of gotta's or `module:function`, `data` a data set by name or with its arguments; `settings` such
    as {"stream.order": "iid", "regime.batch_size": 1} say what the stream is like. `budget` is the number of forwards
    for each sample that may be spent, a backward being two. Without `labels` those of the data are not looked at.
    Finished runs are kept in `out` and reused.

    `seeds` are those of the runs. `jobs` of them go at a time on a `device`, and `listen` receives what happens.

    >>> import gotta
    >>> try:
    ...     gotta.advise("resnet20", "nothing of the kind")
    ... except gotta.GottaError as error:
    ...     print(str(error)[:42])
    data set 'nothing of the kind' is unknown.
    """
    require("budget", budget, Budget)
    named = data.get("name") if isinstance(data, Mapping) else data
    usual: dict[str, Any] = {"stream": OWN} if named == "folder" else {}
    given = merged(usual, sections(settings))
    if named == "folder" and "size" not in {**(data if isinstance(data, Mapping) else {}), **given.get("data", {})}:
        why = "A network sees well only at the size it was trained on: size=32, say, or size=224."
        raise GottaError(f"the size of the images is missing. {why}")
    given = given if labels else merged(given, {"regime": {"surrogates": True}})
    asked: Asked = {"data": data, "model": model, "seeds": seeds, "settings": given, "out": out}
    result = bench(RECIPE, **asked, jobs=jobs, device=device, listen=listen)
    if not result.runs:
        raise GottaError(f"every candidate failed, the first one so: {result.failures[0].message}")
    found = tuple(Candidate(run) for run in result.runs if not run.summary.no_effect)
    return Advice(found, budget or inf, labels, Path(out))


def list_arguments(run: Run) -> dict[str, Any]:
    """The arguments with which `gotta.adapt` does what the run did, besides its defaults."""
    method, memory = run.spec.method, run.spec.memory
    found: dict[str, Any] = {"method": method.name}
    if run.spec.has_memory:
        found |= {"memory": memory.name, "capacity": memory.capacity}
    if run.spec.control:
        found |= {"statistics": "running", "rate": method.rate}
    elif method.name == "norm":
        found["statistics"] = method.statistics or "batch"
    usual = methods.get(method.name).native_prior
    return found if run.prior == usual else {**found, "prior": run.prior}


def find_swapped(right: Sequence[float | None], predicted: Sequence[float], chance: float) -> list[int]:
    """Classes that are predicted about as often as others, and whose samples are worse off than by chance.

    All numbers are percentages. One such class is a hard class; with two or more, their numbers are probably mixed up.

    >>> find_swapped([0.0, 90.0, 0.0, 80.0], [25.0, 24.0, 26.0, 25.0], chance=25.0)
    [0, 2]
    """
    pairs = enumerate(zip(right, predicted, strict=True))
    found = [k for k, (hits, share) in pairs if hits is not None and hits < chance / 2 and share > chance / 2]
    return found if len(found) > 1 else []


def write_call(arguments: Mapping[str, Any]) -> str:
    """A line to paste.

    >>> write_call({"method": "norm", "statistics": "running", "rate": 0.1})
    'gotta.adapt(net, method="norm", statistics="running", rate=0.1)'
    """
    given = {} if arguments == {"method": USUAL} else arguments
    return f"gotta.adapt({', '.join(['net', *(f'{name}={_quote(value)}' for name, value in given.items())])})"


def _quote(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _sign(surrogate: Surrogate, run: Run) -> float:
    value = surrogate.of(run)
    return -inf if value is None else value


def count_passes(phases: Mapping[str, Mapping[str, Any]]) -> float:
    """Forwards of one sample. A backward is two, of as many samples as a forward of its phase, or of a prediction."""
    usual = _width(phases["predict"], 0.0) if "predict" in phases else 0.0
    counted = [phase for phase in phases.values() if "forwards" in phase]
    return sum(float(phase["samples"] + BACKWARD * phase["backwards"] * _width(phase, usual)) for phase in counted)


def _width(phase: Mapping[str, Any], usual: float) -> float:
    return float(phase["samples"] / phase["forwards"]) if phase["forwards"] else usual
