"""Parts that do not come with gotta: which of them a spec names, and importing them when the caller wants it run.

A spec is built, shown and compared without importing any of them. `module:Class` needs the caller's word: on the
command line, as an argument, or by the line `imports: [module]` of a recipe. A stored run cannot give it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from gotta.data.dataset import DATASETS
from gotta.data.dataset import check_arguments as check_dataset
from gotta.errors import GottaError, messages
from gotta.memory import policies
from gotta.memory.policy import make_policy
from gotta.methods import methods
from gotta.models import architectures
from gotta.models.foreign import is_foreign
from gotta.models.own import find as find_network
from gotta.priors import priors
from gotta.registry import Registry
from gotta.statistics import statistics
from gotta.streams import ORDERS, SCHEDULES

if TYPE_CHECKING:
    from gotta.experiment.spec.run_spec import RunSpec

REGISTRIES: dict[str, Registry[Any]] = {
    "data": DATASETS,
    "model": architectures,
    "memory": policies,
    "method": methods,
    "order": ORDERS,
    "schedule": SCHEDULES,
    "statistics": statistics,
    "prior": priors,
}
CHECKS: dict[str, Callable[[str, dict[str, Any]], object]] = {  # of the arguments of a part
    "data": check_dataset,
    "memory": make_policy,
    "method": methods.check_arguments,
}
PLACES = {  # parts that are settings of a section: by kind, that section
    "order": "stream",
    "schedule": "stream",
    "statistics": "method",
    "prior": "method",
}


def is_user_part(section: str, name: str) -> bool:
    """Whether this part would have to be imported to be looked at."""
    return not (section == "model" and is_foreign(name)) and REGISTRIES[section].is_user_part(name)


def find_own(kind: str, name: str) -> Any:
    """The part, if it is there and can be looked at without importing code of the caller's; else None."""
    with suppress(GottaError):  # it is unknown
        return None if is_user_part(kind, name) else REGISTRIES[kind].get(name)
    return None


def find_parts(sections: Mapping[str, Any]) -> dict[str, str]:
    """The parts that a spec, or some of its sections, names, by kind."""
    found = {}
    for kind in REGISTRIES:
        section, setting = (PLACES[kind], kind) if kind in PLACES else (kind, "name")
        content = sections.get(section)
        name = content.get(setting) if isinstance(content, Mapping) else None
        if isinstance(name, str):
            found[kind] = name
    return found


def find_user_parts(sections: Mapping[str, Any]) -> dict[str, str]:
    """Those of them that are from outside."""
    return {kind: name for kind, name in find_parts(sections).items() if is_user_part(kind, name)}


def permit(sections: Mapping[str, Any], imports: Collection[str] | None = None) -> None:
    """What these sections name may be imported: all of it, or what is of these modules."""
    for section, name in find_user_parts(sections).items():
        if ":" in name and (imports is None or name.partition(":")[0] in imports):
            REGISTRIES[section].permit(name)


def find_refused(sections: Mapping[str, Any]) -> list[str]:
    """A complaint for each `module:Class` that only a file names."""
    return [
        f"{REGISTRIES[section].refusal(name)} On the command line: {section}.name={name}; "
        f"in a recipe: imports: [{name.partition(':')[0]}]."
        for section, name in find_user_parts(sections).items()
        if section not in PLACES and not REGISTRIES[section].is_permitted(name)
    ]


def check_permitted(sections: Mapping[str, Any]) -> None:
    for kind, name in find_user_parts(sections).items():
        REGISTRIES[kind].expect(name)


def find_mistakes(specs: Iterable["RunSpec"]) -> list[str]:
    """Import the outside parts of these specs: what is wrong with them and with their arguments, each once."""
    looks: dict[str, Callable[[], object]] = {}
    for spec in specs:
        for section, name in find_user_parts(spec.model_dump()).items():
            arguments = dict(getattr(getattr(spec, section, None), "arguments", {}))
            looks[f"{section} {name} {arguments}"] = partial(_look, section, name, arguments)
    return messages(looks.values())


def _look(section: str, name: str, arguments: dict[str, Any]) -> None:
    found = find_network(name) if section == "model" else REGISTRIES[section].get(name)
    if found is not None and section in CHECKS:
        CHECKS[section](name, arguments)
