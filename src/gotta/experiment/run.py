"""One run: from a spec to its numbers."""

import json
import os
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

from gotta.adapted import Adapted
from gotta.data import dataset
from gotta.data.home import VARIABLE
from gotta.errors import GottaError
from gotta.experiment.model import shared_model
from gotta.experiment.record import Recorder
from gotta.experiment.spec import ORACLE, DataSpec, RunSpec
from gotta.loop import OracleMemory, evaluate
from gotta.memory import Memory
from gotta.methods import Statistics, methods
from gotta.metrics import Buffer, Online
from gotta.models import Backbone
from gotta.streams import Stream
from gotta.types import Dataset

Result = tuple[list[dict[str, Any]], dict[str, Any]]


def shared_dataset(spec: DataSpec) -> Dataset:
    """Cells of a sweep share images, and a worker runs many cells."""
    return _shared_dataset(spec.name, json.dumps(spec.arguments, sort_keys=True), os.environ.get(VARIABLE))


@lru_cache(maxsize=2)
def _shared_dataset(name: str, arguments: str, data_home: str | None) -> Dataset:
    return dataset(name, **json.loads(arguments))


def run(
    spec: RunSpec,
    report: Callable[[int, int, float], None] = lambda step, steps, accuracy: None,
    journal: Path | None = None,
    device: str = "cpu",
    workers: int | None = None,
    recorder: Recorder | None = None,
) -> Result:
    """The records of all steps and the summary. `report` hears (steps done, steps, accuracy so far) after each step.

    With `journal` every decision of the memory is written to that file, for `gotta replay`. `workers` read images ahead
    and change no number. A `recorder` looks on, and keeps what the memory held.
    """
    started = perf_counter()
    data = shared_dataset(spec.data)
    stream = Stream(data, spec.stream_spec())
    model = deepcopy(shared_model(**dict(spec.model), num_classes=data.num_classes)).to(device)
    adapted = build(spec, model, data, journal is not None or recorder is not None)
    online = Online(data.num_classes, stream.domains)
    buffer = Buffer(adapted.memory.capacity, data.num_classes)
    steps = []
    right = seen = 0
    with closing(evaluate(adapted, stream, spec.regime.reset, workers=workers)) as records:
        for record in records:
            outcome = record.outcome
            scored = online.update(record.truth, outcome.prediction.logits.cpu().numpy())
            buffer.update(outcome.slots, record.truth.label, outcome.prediction.embedding.cpu())
            held = buffer.measure(adapted.memory.peek(), adapted.memory.slots)
            steps.append(
                {
                    "step": record.step,
                    **scored,
                    "adaptations": outcome.adaptations,
                    "memory": held,
                    "cost": outcome.cost,
                    **outcome.diagnostics,
                }
            )
            if recorder is not None:
                recorder.step(record, adapted.memory, stream)
            right, seen = right + scored["correct"], seen + scored["samples"]
            report(record.step + 1, len(stream), 100 * right / seen)
    if journal is not None and adapted.memory.journal is not None:
        adapted.memory.journal.frozen = not adapted.method.trained and not adapted.method.moves_statistics
        adapted.memory.journal.save(journal)
    result = online.summary()
    summary = {
        "accuracy": result["accuracy"],
        "error": result["error"],
        "seconds": perf_counter() - started,
        "online": result,
        "buffer": steps[-1]["memory"],
        "decisions": dict(adapted.memory.stats),
        "cost": adapted.method.cost.summary(),
        "adaptations": sum(step["adaptations"] for step in steps),
        "trained_parameters": sum(p.numel() for p in adapted.method.trained.values()),
        "stream": stream.summary(),
    }
    return steps, summary


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
