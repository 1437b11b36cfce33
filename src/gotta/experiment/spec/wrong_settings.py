"""Finds what is wrong with the settings of a spec, before anything is loaded."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gotta.core.clock import CLOCKS
from gotta.core.pairing import PAIRINGS
from gotta.core.regime import REGIMES, Regime
from gotta.core.true_labels import TRUE_LABELS
from gotta.data.dataset import check_arguments as check_dataset
from gotta.errors import check_known, messages, unknown
from gotta.experiment.spec import user_parts
from gotta.experiment.spec.clean_samples import asks_for_samples, decide_samples, without_samples
from gotta.experiment.spec.completing import CONTROLS
from gotta.experiment.spec.sections import FROM_ELSEWHERE, PRIOR, MemorySpec, MethodSpec
from gotta.memory import policies
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
        lambda: Regime(64 if spec.regime.batch_size is None else spec.regime.batch_size, spec.regime.adapt_every),
    ]
    found = user_parts.find_refused(spec.model_dump()) + messages(looks) + _stream_mistakes(spec.stream)
    if (told := spec.memory.name) in TRUE_LABELS and spec.control != told:
        found.append(f"memory '{told}' knows the true labels and exists as a control only. Use control: {told}.")
    if spec.memory.capacity is None and (spec.control or spec.memory.name not in ("none", *TRUE_LABELS)):
        found.append(f"memory '{spec.memory.name}' needs a capacity, such as memory.capacity=64.")
    return found + _prior_mistakes(spec.method) + _embedding_mistakes(spec)


def _prior_mistakes(method: MethodSpec) -> list[str]:
    given = [name for name in PRIOR[1:] if getattr(method, name) is not None]
    if not given or user_parts.is_user_part("method", method.name) or messages([lambda: methods.get(method.name)]):
        return []
    if (method.prior or methods.get(method.name).native_prior) != "none":
        return []
    return [
        f"method.{given[0]} is a setting of the prior, and there is none. Use method.prior=patient, or leave it out."
    ]


def _embedding_mistakes(spec: "RunSpec") -> list[str]:
    name, embedding = spec.memory.name, spec.method.embedding
    if spec.control or embedding == "probs" or user_parts.is_user_part("memory", name) or name not in policies.names():
        return []
    if not getattr(policies.get(name), "needs_probs", False):
        return []
    return [f"memory '{name}' reads confidence from probabilities. Use method.embedding=probs (got {embedding})."]


def _check_method(spec: "RunSpec") -> None:
    methods.check_arguments(spec.method.name, without_samples(spec.method.name, spec.method.arguments))
    if setting := asks_for_samples(spec.method.name, spec.method.arguments):
        decide_samples(setting, spec.method.arguments[setting], spec.data.name)


def _check_memory(memory: MemorySpec) -> None:
    if memory.name not in TRUE_LABELS:
        make_policy(memory.name, memory.arguments)


def _stream_mistakes(stream: Mapping[str, Any]) -> list[str]:
    known = [field.name for field in fields(StreamSpec) if field.name not in FROM_ELSEWHERE]
    wrong = [str(unknown("argument of stream", name, known)) for name in stream if name not in known]
    right = {name: value for name, value in stream.items() if name in known}
    return wrong + check(StreamSpec(**right))
