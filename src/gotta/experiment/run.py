"""One run: from a spec to its numbers."""

from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch

from gotta.adapted import Adapted
from gotta.data import dataset
from gotta.errors import GottaError
from gotta.experiment.scoring import Scoring
from gotta.experiment.snapshots import Snapshots
from gotta.experiment.spec import ORACLE, RunSpec
from gotta.loop import OracleMemory, evaluate
from gotta.memory import Memory
from gotta.methods import Statistics, methods
from gotta.models import Backbone, load
from gotta.streams import Stream
from gotta.types import Dataset

Result = tuple[list[dict[str, Any]], dict[str, Any]]

# Cells of a sweep share images and weights, and a worker runs many cells.
_read_dataset = lru_cache(maxsize=2)(dataset)
_placed: dict[str, Dataset] = {}


def place(name: str, data: Dataset) -> None:
    """Give this process a data set that somebody else has read."""
    _placed[name] = data


def shared_dataset(name: str) -> Dataset:
    return _placed[name] if name in _placed else _read_dataset(name)


@lru_cache(maxsize=2)
def shared_model(name: str) -> Backbone:
    # On a CPU convolutions are up to a third faster with the channels last.
    return load(name).to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]


def run(
    spec: RunSpec,
    report: Callable[[int, int, float], None] = lambda step, steps, accuracy: None,
    journal: Path | None = None,
    device: str = "cpu",
    snapshots: Snapshots | None = None,
) -> Result:
    """The records of all steps and the summary. `report` hears (steps done, steps, accuracy so far) after each step.

    With `journal` every decision of the memory is written to that file, for `gotta replay`. With `snapshots` the run
    goes on from the last one, if there is one, and keeps more.
    """
    if journal is not None and snapshots is not None:
        raise GottaError("a journal must see a run from its first step, so it goes without snapshots.")
    stream = Stream(shared_dataset(spec.data.name), spec.stream_spec())
    adapted, scoring = _start(spec, stream, device, journal is not None, snapshots)
    for record in evaluate(adapted, stream, spec.regime.reset, len(scoring.steps)):
        scoring.add(record)
        report(record.step + 1, len(stream), scoring.accuracy)
        if snapshots is not None and snapshots.due():
            snapshots.save(adapted, scoring)
    if journal is not None and adapted.memory.journal is not None:
        adapted.memory.journal.frozen = not adapted.method.trained and not adapted.method.moves_statistics
        adapted.memory.journal.save(journal)
    return scoring.steps, scoring.summary()


def _start(
    spec: RunSpec, stream: Stream, device: str, journal: bool, snapshots: Snapshots | None
) -> tuple[Adapted, Scoring]:
    """The model and the scores as they are before the first step that is left to do."""

    def fresh() -> tuple[Adapted, Scoring]:
        model = deepcopy(shared_model(spec.model.name)).to(device)
        adapted = build(spec, model, stream.dataset, journal)
        return adapted, Scoring(adapted, stream, stream.dataset.num_classes)

    begun = fresh()
    if snapshots is None or not snapshots.folder.exists() or snapshots.load(*begun):
        return begun
    return fresh()  # what a misfit snapshot may have touched is not used


def build(spec: RunSpec, model: Backbone, data: Dataset, journal: bool = False) -> Adapted:
    """The adapted model that a spec describes."""
    if model.num_classes != data.num_classes:
        raise GottaError(
            f"model '{spec.model.name}' tells {model.num_classes} classes apart and data set '{spec.data.name}' has "
            f"{data.num_classes}. Choose a model trained on these classes."
        )
    settings = spec.method
    given = settings.model_dump(include={"fed_by", "rate"}, exclude_none=True)
    statistics = Statistics(settings.statistics or "source", **given)
    method = methods.build(
        settings.name,
        model=model,
        statistics=statistics,
        embed=settings.embedding,
        seed=spec.seed,
        **settings.arguments,
    )
    memory = _memory(spec, data.num_classes, journal)
    return Adapted(method, memory, spec.regime.adapt_every, spec.regime.score or method.native_score)


def _memory(spec: RunSpec, num_classes: int, journal: bool) -> Memory:
    if spec.memory.name == ORACLE:
        assert spec.memory.capacity
        return OracleMemory(spec.memory.capacity, num_classes, spec.seed)
    return Memory(
        spec.memory.name,
        spec.memory.capacity if spec.has_memory else None,
        num_classes,
        spec.seed,
        refresh_every=spec.memory.refresh_every,
        journal=journal,
        **spec.memory.arguments,
    )
