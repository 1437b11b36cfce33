"""One run: from a spec to its numbers."""

import logging
import warnings
from collections.abc import Callable
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import gotta
from gotta.core.adapted import Adapted
from gotta.core.build import build as build_adapted
from gotta.core.clock import Clock
from gotta.core.domain_statistics import DomainStatistics
from gotta.core.guard import GuardWarning
from gotta.core.loop import evaluate
from gotta.core.true_labels import TRUE_LABELS, TrueLabelMemory
from gotta.core.undo import UndoneWarning
from gotta.experiment.run.clean_images import images_used, method_arguments
from gotta.experiment.run.environment import settle_device
from gotta.experiment.run.loaded import check_classes, data_of, inputs_used, model_of
from gotta.experiment.run.memory_film import Recorder
from gotta.experiment.run.no_effect import settle_cell
from gotta.experiment.run.scoring import Scoring, count_surrogates, surrogate_summary
from gotta.experiment.run.snapshots import Snapshots
from gotta.experiment.spec.completing import statistics_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import PRIOR
from gotta.freed_memory import keep_freed_memory
from gotta.memory import Memory, policies
from gotta.memory.policy import make_policy
from gotta.methods import methods
from gotta.models import Backbone
from gotta.priors import OrderWarning
from gotta.statistics import Statistics, statistics
from gotta.streams import Stream
from gotta.types import Dataset

log = logging.getLogger(__name__)
Result = tuple[list[dict[str, Any]], dict[str, Any]]


def run(
    spec: RunSpec,
    report: Callable[[int, int, float], None] = lambda step, steps, accuracy: None,
    journal: Path | None = None,
    device: str = "cpu",
    snapshots: Snapshots | None = None,
    workers: int | None = None,
    recorder: Recorder | None = None,
    hashes: Path | None = None,
) -> Result:
    """The records of all steps and the summary. `report` hears (steps done, steps, accuracy so far) after each step.

    With `journal` every decision of the memory is written to that file, for `gotta replay`. With `snapshots` the run
    goes on from the last one, if there is one, and keeps more. `workers` read images ahead and change no number.
    A `recorder` looks on, and keeps what the memory held; like a journal it must see every step, so neither goes with
    snapshots. `hashes` is a file that remembers hashes of data.
    """
    keep_freed_memory()
    log.info("running %s on %s", spec.id, device)
    settle_device(device, spec.regime.deterministic)
    stream = Stream(data_of(spec), spec.stream_spec())
    inputs = inputs_used(spec, stream, hashes)
    model = deepcopy(model_of(spec)).to(device)
    inputs |= images_used(spec, model)
    if snapshots is not None:
        snapshots.beside = inputs
    done, pointless = settle_cell(spec, model)
    clock = Clock(spec.regime.pace)
    adapted, scoring = _start(done, model, stream, journal is not None or recorder is not None, snapshots)
    clock.catch_up(scoring.steps)
    first = len(scoring.steps)
    known = DomainStatistics(stream) if spec.control == "domain_statistics" else None
    exposed = spec.regime.exposure.steps(stream, spec.seed) if spec.regime.exposure.is_limited else None
    records = evaluate(adapted, stream, spec.regime.reset, first, workers, clock, known, exposed)
    with closing(records), warnings.catch_warnings():
        for kind in (GuardWarning, UndoneWarning, OrderWarning):  # the records hold what they say
            warnings.simplefilter("ignore", kind)
        for record in records:
            scoring.add(record)
            if spec.regime.surrogates:
                with scoring.pause():
                    x = stream.step(record.step).x.to(device)
                    scoring.steps[-1] |= count_surrogates(adapted, x, record.outcome)
            if recorder is not None:
                with scoring.pause():
                    recorder.step(record, adapted.memory, stream)
            report(record.step + 1, len(stream), scoring.accuracy)
            if snapshots is not None and snapshots.due():
                snapshots.save(adapted, scoring)
    if journal is not None and adapted.memory.journal is not None:
        adapted.memory.journal.frozen = adapted.method.stands_still
        adapted.memory.journal.save(journal)
    summary = {
        **scoring.summary(),
        "gotta": gotta.__version__,
        **inputs,
        **({"guard": guard_summary(spec.guard, scoring.steps)} if spec.guard else {}),
        **({"surrogates": surrogate_summary(scoring.steps, stream.num_samples)} if spec.regime.surrogates else {}),
        **({"exposure": exposure_summary(scoring.steps)} if exposed is not None else {}),
        **({"no_effect": pointless} if pointless else {}),
    }
    return scoring.steps, summary


def _start(
    spec: RunSpec, model: Backbone, stream: Stream, journal: bool, snapshots: Snapshots | None
) -> tuple[Adapted, Scoring]:
    """The model and the scores as they are before the first step that is left to do."""

    def fresh(net: Backbone) -> tuple[Adapted, Scoring]:
        adapted = build(spec, net, stream.dataset, journal)
        return adapted, Scoring(adapted, stream, stream.dataset.num_classes)

    if snapshots is not None and snapshots.folder.exists():
        continued = fresh(deepcopy(model))
        if snapshots.load(*continued):
            return continued
    return fresh(model)  # what a misfit snapshot may have touched is not used


def build(spec: RunSpec, model: Backbone, data: Dataset, journal: bool = False) -> Adapted:
    """The adapted model that a spec describes."""
    check_classes(spec, model, data)
    settings = spec.method
    return build_adapted(
        model,
        settings.name,
        _memory(spec, data.num_classes, journal),
        _statistics(spec),
        spec.regime.adapt_every,
        spec.regime.score,
        settings.embedding,
        spec.seed,
        spec.guard,
        **settings.model_dump(include=set(PRIOR), exclude_none=True),
        **method_arguments(spec, model),
    )


def _statistics(spec: RunSpec) -> Statistics:
    """As the spec says; it leaves that open for a method that had to be imported first."""
    if spec.method.statistics is None:
        return statistics_of(spec, methods.get(spec.method.name))
    given = spec.method.model_dump(include={"fed_by", "rate"}, exclude_none=True)
    chosen: Statistics = statistics.build(spec.method.statistics, **given)
    return chosen


def guard_summary(action: str, steps: list[dict[str, Any]]) -> dict[str, Any]:
    """How often the guard found the model unhealthy, and in which share of the steps the source predicted for it."""
    unhealthy = [step["guard_unhealthy"] for step in steps]
    began = sum(now > before for before, now in zip([0.0, *unhealthy], unhealthy, strict=False))
    active = sum(step["guard_active"] for step in steps)
    return {"action": action, "episodes": began, "active_steps": int(active), "active_share": active / len(steps)}


def exposure_summary(steps: list[dict[str, Any]]) -> dict[str, Any]:
    """How many samples were adapted to, and the accuracy in percent on those and on the ones that were held out."""
    seen, held_out = ([step for step in steps if step["missed"] == missed] for missed in (False, True))
    return {
        "samples": sum(step["samples"] for step in seen),
        "accuracy": _accuracy(seen),
        "held_out_samples": sum(step["samples"] for step in held_out),
        "held_out_accuracy": _accuracy(held_out),
    }


def _accuracy(steps: list[dict[str, Any]]) -> float | None:
    samples = sum(step["samples"] for step in steps)
    return 100 * sum(step["correct"] for step in steps) / samples if samples else None


def _memory(spec: RunSpec, num_classes: int, journal: bool) -> Memory:
    if spec.memory.name in TRUE_LABELS:
        assert spec.memory.capacity
        rule = TRUE_LABELS[spec.memory.name]
        return TrueLabelMemory(rule, spec.memory.capacity, num_classes, spec.seed, journal=journal)
    policies.get(spec.memory.name)  # refused unless it is registered or the caller gave it
    return Memory(
        make_policy(spec.memory.name, spec.memory.arguments),  # its alone: none says where samples are kept
        spec.memory.capacity if spec.has_memory else None,
        num_classes,
        spec.seed,
        refresh_every=spec.memory.refresh_every,
        journal=journal,
    )
