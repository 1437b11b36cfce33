"""What a run is: its settings with every default, and the code of the parts that are not gotta's own.

The name of a run is the hash of this and of its spec, so another default, or an edited file, is another run. What
cannot be known before the data is there, the content of data and weights, stands in the run's summary.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

from gotta.core.guard import Guard
from gotta.core.loop import TRUE_LABELS
from gotta.data.dataset import DATASETS
from gotta.experiment.spec.arguments import FROM_ELSEWHERE
from gotta.experiment.spec.run_id import FORMAT
from gotta.experiment.spec.source_files import is_own, source_files
from gotta.memory import policies
from gotta.memory.policy import make_policy
from gotta.methods import methods
from gotta.methods.settings import choose_quirks, hyper_parameters
from gotta.models import foreign
from gotta.models.backbone import architectures
from gotta.registry import Registry
from gotta.streams import StreamSpec
from gotta.streams.order import ORDERS
from gotta.streams.schedule import SCHEDULES

# Settings that came later: where nobody changes them, a run is what it was before and keeps its name.
LATER = {"loss": "entropy", "reset_every": None}

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec
    from gotta.experiment.spec.sections import MemorySpec, MethodSpec


def identity_of(spec: "RunSpec") -> dict[str, Any]:
    """Of each part the settings it has here and now or, if it is the user's own, the hashes of its files."""
    data, memory, method = spec.data, spec.memory, spec.method
    stream = {**asdict(StreamSpec()), **spec.stream}
    parts = {
        "data": _part(DATASETS, data.name, lambda: _arguments(DATASETS.get(data.name), data.arguments)),
        "order": _part(ORDERS, stream["order"], lambda: _pick_settings(ORDERS.get(stream["order"]), stream)),
        "schedule": _part(
            SCHEDULES, stream["schedule"], lambda: _pick_settings(SCHEDULES.get(stream["schedule"]), stream)
        ),
        "model": _model(spec.model.name),
        "memory": _part(policies, _policy(memory.name), lambda: _of_memory(memory)),
        "method": _part(methods, method.name, lambda: _of_method(method)),
    }
    if spec.guard:
        parts["guard"] = {"settings": _arguments(Guard)}
    made: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "parts": parts}, default=_plain))
    return made


def _part(registry: Registry[Any], name: str, settings: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    module = registry.module_of(name)
    if is_own(module):
        return {"settings": dict(settings())}
    return {"files": source_files(module, f"{registry.kind} '{name}'")}


def _model(name: str) -> dict[str, Any]:
    """A network by name is told by its weights, and an architecture by its arguments."""
    if (":" in name and not foreign.is_foreign(name)) or name in architectures.names():
        return _part(architectures, name, lambda: _arguments(architectures.get(name)))
    return {"settings": {}}


def _policy(name: str) -> str:
    return TRUE_LABELS.get(name, name)


def _of_memory(memory: "MemorySpec") -> dict[str, Any]:
    policy = make_policy(_policy(memory.name), memory.arguments)
    settings: dict[str, Any] = asdict(policy) if is_dataclass(policy) else dict(memory.arguments)
    every = policy.refresh_every if memory.refresh_every is None else memory.refresh_every
    return {**settings, "refresh_every": every or None}


def _of_method(method: "MethodSpec") -> dict[str, Any]:
    """What every method takes, and its own hyper-parameters, which are in its presets."""
    cls = methods.get(method.name)
    usual = {name: value for name, value in _arguments(cls).items() if name not in FROM_ELSEWHERE}
    set_here = {name: value for name, value in dict(method).items() if name in usual and value is not None}
    taken = usual | set_here | {name: value for name, value in method.arguments.items() if name in usual}
    hyper = {name: value for name, value in method.arguments.items() if name not in usual}
    resolved = {
        "prior": taken.get("prior") or cls.native_prior,
        "labels": taken.get("labels") or cls.native_labels,
        "reset_every": taken.get("reset_every") or cls.native_reset_every,
        "quirks": sorted(choose_quirks(cls, taken.get("quirks", ()))),
    }
    settings = {**hyper_parameters(cls, taken.get("preset", "official"), hyper), **taken, **resolved}
    return {name: value for name, value in settings.items() if name not in LATER or value != LATER[name]}


def _arguments(function: Callable[..., Any], given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What a function is called with: its defaults, and over them what is given."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty} | dict(given or {})


def _pick_settings(function: Callable[..., Any], stream: Mapping[str, Any]) -> dict[str, Any]:
    """What an order or a schedule makes of the settings of a stream."""
    names = inspect.signature(function).parameters
    return _arguments(function, {name: value for name, value in stream.items() if name in names})


def _plain(value: Any) -> Any:
    """A default that is no JSON. Without its address, which is another one in every process."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return getattr(value, "__qualname__", None) or f"{type(value).__module__}.{type(value).__qualname__}"
