"""`gotta show`: all settings of a method, a memory or a data set."""

from typing import Annotated, Any

import typer

from gotta.errors import unknown


def show(name: Annotated[str, typer.Argument(help="A method, a memory or a data set (gotta ls).")]) -> None:
    """Print what a method, memory or data set is and every setting it takes, with its presets.

    Examples:

    - `gotta show rotta`

    - `gotta show fps`

    - `gotta show imagenet_c`
    """
    import yaml

    from gotta.data import DATASETS
    from gotta.memory import policies
    from gotta.methods import describe, methods

    if name in methods.names():
        described = describe(name)
    elif name in policies.names() or ":" in name:
        described = _memory(name, policies.get(name))
    elif name in DATASETS.names():
        described = _settings(name, DATASETS.get(name))
    else:
        raise unknown("method, memory or data set", name, [*methods.names(), *policies.names(), *DATASETS.names()])
    print(yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110), end="")


def _settings(name: str, thing: Any) -> dict[str, Any]:
    import inspect

    parameters = inspect.signature(thing).parameters.values()
    return {
        "name": name,
        "summary": " ".join((inspect.getdoc(thing) or "").split()),
        "settings": {p.name: None if p.default is p.empty else p.default for p in parameters},
    }


def _memory(name: str, policy: Any) -> dict[str, Any]:
    return {
        **_settings(name, policy),
        "needs": list(getattr(policy, "needs", ())),
        "refresh_every": getattr(policy, "refresh_every", None),
    }
