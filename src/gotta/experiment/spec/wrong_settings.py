"""Finds what is wrong with the settings of a spec, before anything is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gotta.core.clock import CLOCKS
from gotta.core.pairing import PAIRINGS
from gotta.core.regime import REGIMES, Samples
from gotta.core.true_labels import TRUE_LABELS
from gotta.data.dataset import check_arguments as check_dataset
from gotta.errors import check_known, messages, unknown
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.clean_samples import asks_for_samples, decide_samples, without_samples
from gotta.experiment.spec.completing import CONTROLS
from gotta.experiment.spec.sections import FROM_ELSEWHERE, PRIOR, MemorySpec, MethodSpec
from gotta.limits import require
from gotta.memory.policy import make_policy
from gotta.methods import methods
from gotta.models.zoo import check as check_model
from gotta.priors import priors
from gotta.statistics import statistics
from gotta.streams import StreamSpec, check

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec


def find_mistakes(spec: "RunSpec") -> list[str]:
    parts: dict[str, Callable[[], object]] = {
        "data": lambda: check_dataset(spec.data.name, spec.data.arguments),
        "model": lambda: check_model(**dict(spec.model)),  # its name; whether its weights are here is another question
        "method": lambda: _check_method(spec),
        "memory": lambda: _check_memory(spec.memory),
    }
    looks: list[Callable[[], object]] = [
        *(look for section, look in parts.items() if not user_parts.is_user_part(section, getattr(spec, section).name)),
        lambda: check_known("regime", spec.regime.name, REGIMES),
        lambda: check_known("pairing", spec.pairing, PAIRINGS),
        *([] if spec.control is None else [lambda: check_known("control", spec.control, CONTROLS)]),
        lambda: statistics.expect(spec.method.statistics or "source"),
        lambda: priors.expect(spec.method.prior or "none"),
        lambda: check_known("clock", spec.regime.clock, CLOCKS),
        lambda: spec.regime.exposure,
        lambda: require("batch_size", spec.regime.batch_size, Samples | None),
        lambda: require("adapt_every", spec.regime.adapt_every, Samples | None),
    ]
    found = user_parts.find_refused(spec.model_dump()) + messages(looks) + _stream_mistakes(spec.stream)
    if (told := spec.memory.name) in TRUE_LABELS and spec.control != told:
        found.append(f"memory '{told}' knows the true labels and exists as a control only. Use control: {told}.")
    if spec.memory.capacity is None and (spec.control or spec.memory.name not in ("none", *TRUE_LABELS)):
        found.append(f"memory '{spec.memory.name}' needs a capacity, such as memory.capacity=64.")
    return found + _prior_mistakes(spec.method) + _embedding_mistakes(spec)


def _prior_mistakes(method: MethodSpec) -> list[str]:
    given = [name for name in PRIOR[1:] if getattr(method, name) is not None]
    chosen = user_parts.find_own("method", method.name)
    if not given or chosen is None or (method.prior or chosen.native_prior) != "none":
        return []
    return [f"method.{given[0]} belongs to a prior, and there is none. Add method.prior=patient, or leave it out."]


def _embedding_mistakes(spec: "RunSpec") -> list[str]:
    name, embedding = spec.memory.name, spec.method.embedding
    needs_probs = getattr(user_parts.find_own("memory", name), "needs_probs", False)
    if spec.control or embedding == "probs" or not needs_probs:
        return []
    return [f"memory '{name}' reads confidence from probabilities. Use method.embedding=probs (got {embedding})."]


def _check_method(spec: "RunSpec") -> None:
    methods.check_arguments(spec.method.name, without_samples(spec.method))
    if setting := asks_for_samples(spec.method):
        decide_samples(setting, spec.method.arguments[setting], spec.data.name)


def _check_memory(memory: MemorySpec) -> None:
    if memory.name not in TRUE_LABELS:
        make_policy(memory.name, memory.arguments)


def _stream_mistakes(stream: Mapping[str, Any]) -> list[str]:
    known = [field.name for field in fields(StreamSpec) if field.name not in FROM_ELSEWHERE]
    wrong = [str(unknown("argument of stream", name, known)) for name in stream if name not in known]
    right = {name: value for name, value in stream.items() if name in known}
    return wrong + check(StreamSpec(**right))
