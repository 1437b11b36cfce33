"""One run: from a spec to its numbers."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from typing import Any

from gotta.adapted import Adapted
from gotta.data import dataset
from gotta.data.home import VARIABLE
from gotta.errors import GottaError
from gotta.experiment.model import shared_model
from gotta.experiment.scoring import Scoring
from gotta.experiment.snapshots import Snapshots
from gotta.experiment.spec import ORACLE, DataSpec, RunSpec
from gotta.loop import OracleMemory, evaluate
from gotta.memory import Memory
from gotta.methods import Statistics, methods
from gotta.models import Backbone
from gotta.streams import Stream
from gotta.types import Dataset

Result = tuple[list[dict[str, Any]], dict[str, Any]]

_placed: dict[str, Dataset] = {}


def place(spec: DataSpec, data: Dataset) -> None:
    """Give this process a data set that somebody else has read."""
    _placed[spec.model_dump_json()] = data


def shared_dataset(spec: DataSpec) -> Dataset:
    """Cells of a sweep share images, and a worker runs many cells."""
    if data := _placed.get(spec.model_dump_json()):
        return data
    return _shared_dataset(spec.name, json.dumps(spec.arguments, sort_keys=True), os.environ.get(VARIABLE))


@lru_cache(maxsize=2)
def _shared_dataset(name: str, arguments: str, data_home: str | None) -> Dataset:
    return dataset(name, **json.loads(arguments))


def run(
    spec: RunSpec,
    report: Callable[[int, int, float], None] = lambda step, steps, accuracy: None,
    journal: Path | None = None,
    device: str = "cpu",
    snapshots: Snapshots | None = None,
    workers: int | None = None,
) -> Result:
    """The records of all steps and the summary. `report` hears (steps done, steps, accuracy so far) after each step.

    With `journal` every decision of the memory is written to that file, for `gotta replay`. With `snapshots` the run
    goes on from the last one, if there is one, and keeps more. `workers` read images ahead and change no number.
    """
    if journal is not None and snapshots is not None:
        raise GottaError("a journal must see a run from its first step, so it goes without snapshots.")
    stream = Stream(shared_dataset(spec.data), spec.stream_spec())
    adapted, scoring = _start(spec, stream, device, journal is not None, snapshots)
    first = len(scoring.steps)
    with closing(evaluate(adapted, stream, spec.regime.reset, first, workers)) as records:
        for record in records:
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
        classes = stream.dataset.num_classes
        model = deepcopy(shared_model(**dict(spec.model), num_classes=classes)).to(device)
        adapted = build(spec, model, stream.dataset, journal)
        return adapted, Scoring(adapted, stream, classes)

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
