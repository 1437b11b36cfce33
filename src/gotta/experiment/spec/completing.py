"""Decides what a spec leaves open, so that it says by itself what was run."""

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gotta.core.exposure import SETTINGS as EXPOSURE
from gotta.core.pairing import choose_statistics
from gotta.core.regime import REGIMES
from gotta.core.true_labels import TRUE_LABELS
from gotta.data.dataset import has_clips
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.arguments import as_declared, usual_arguments, usual_refresh
from gotta.experiment.spec.clean_samples import asks_for_samples, decide_samples
from gotta.experiment.spec.sections import FIELDS, FROM_ELSEWHERE, PARTS, MemorySpec, MethodSpec
from gotta.methods import Method
from gotta.statistics import Running, Statistics
from gotta.streams import StreamSpec

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec

CONTROLS = {  # names, and what each of them is
    "running_statistics": "no memory; the method predicts with running statistics that the batches move",
    "same_samples": "no memory, and as many samples per step as the rows with a memory",
    "true_kcenter": "a memory that knows the true labels: k-centre within each class",
    "true_cstu": "the same with RoTTA's rule, CSTU",
    "true_pbrs": "the same with NOTE's rule, PBRS",
    "domain_statistics": "no memory; the statistics of each whole domain, known beforehand: the limit of statistics",
}


def apply_control(spec: "RunSpec") -> "RunSpec":
    """The spec as its control has it, if it is one; each keeps the steps of the memory rows it stands beside."""
    if spec.control is None:
        return spec
    name = spec.control if spec.control in TRUE_LABELS else "none"
    bare = spec.memory.model_dump(include=set(FIELDS["memory"])) | {"name": name}
    changes: dict[str, Any] = {"memory": MemorySpec.model_validate(bare)}
    if spec.control == "domain_statistics":
        changes["method"] = spec.method.model_copy(update={"statistics": "source"})
    if spec.control == "running_statistics":
        rate = spec.method.rate or (user_parts.find_own("method", spec.method.name) or Method).paired.rate
        running = {"statistics": "running", "fed_by": "batch", "rate": rate}
        changes["method"] = spec.method.model_copy(update=running)
    return spec.model_copy(update=changes)


def complete(spec: "RunSpec") -> "RunSpec":
    """The spec with every open setting decided."""
    spec = _with_arguments(apply_control(spec))
    steps = spec.memory.capacity if spec.has_memory or spec.control else None
    own = user_parts.find_own("method", spec.method.name)
    score = spec.regime.score or (own.native_score if own else None)
    usual, every = REGIMES[spec.regime.name](steps)
    batch_size = spec.regime.batch_size or usual
    adapt_every = spec.regime.adapt_every or (every if spec.has_memory else None)
    pace = None if spec.regime.clock == "none" else spec.regime.pace or 1.0
    method = spec.method if own is None else _with_statistics(spec, own)
    stream = {name: value for name, value in asdict(StreamSpec.of(**spec.stream)).items() if name not in FROM_ELSEWHERE}
    changes = {
        "stream": stream | {"boundaries": _boundaries(stream["boundaries"], method.prior, spec.data.name)},
        "regime": spec.regime.model_copy(
            update={"batch_size": batch_size, "adapt_every": adapt_every, "score": score, "pace": pace}
            | {name: None for name in EXPOSURE if getattr(spec.regime, name) == 1 and name != "expose_first"}
        ),
        "method": method,
    }
    # Through JSON, so that a spec read back from a file is the same content.
    return type(spec).model_validate(json.loads(spec.model_copy(update=changes).model_dump_json()))


def _boundaries(told: str | None, prior: str | None, data: str) -> str | None:
    """A prior knows where the clips of a video begin, unless the spec hides it."""
    if told is not None or prior in (None, "none") or user_parts.is_user_part("data", data) or not has_clips(data):
        return told
    return "told"


def statistics_of(spec: "RunSpec", method: type[Method]) -> Statistics:
    """Which statistics this method predicts with in this run."""
    given = spec.method.model_dump(include={"statistics", "fed_by", "rate"})
    preset = spec.method.arguments.get("preset", "official")
    return choose_statistics(method, spec.has_memory, spec.pairing, preset, **given)


def _with_statistics(spec: "RunSpec", method: type[Method]) -> MethodSpec:
    statistics = statistics_of(spec, method)
    running = statistics if isinstance(statistics, Running) else None
    moved = {"fed_by": running and running.fed_by, "rate": running and running.rate}
    name = spec.method.statistics or statistics.name  # as it was given: a path of the caller's stays one
    return spec.method.model_copy(update={"statistics": name, **moved, **_prior(spec.method, method)})


def _prior(spec: MethodSpec, method: type[Method]) -> dict[str, str | None]:
    """The settings of the prior; none where there is none and the method has none of its own."""
    name = spec.prior or method.native_prior
    if name == "none":
        return {"prior": None if method.native_prior == "none" else "none", "labels": None, "order_in_batch": None}
    return {"prior": name, "labels": spec.labels or "filtered", "order_in_batch": spec.order_in_batch or "time"}


def _with_arguments(spec: "RunSpec") -> "RunSpec":
    """With every argument of its data set, memory and method, given or not."""
    changes = {}
    for section in PARTS:
        chosen = getattr(spec, section)
        if chosen.name not in TRUE_LABELS and not user_parts.is_user_part(section, chosen.name):
            given = as_declared(section, chosen.name, chosen.arguments)
            if section == "method" and (setting := asks_for_samples(chosen)):
                given[setting] = decide_samples(setting, given[setting], spec.data.name).model_dump()
            changes[section] = chosen.with_arguments({**usual_arguments(section, chosen.name, given), **given})
    if "memory" in changes:
        every = usual_refresh(spec.memory.name) if spec.memory.refresh_every is None else spec.memory.refresh_every
        changes["memory"] = changes["memory"].model_copy(update={"refresh_every": every})
    return spec.model_copy(update=changes)
