"""`gotta show`: all settings of a method or a memory."""

from typing import Annotated, Any

import typer

from gotta.errors import unknown


def show(name: Annotated[str, typer.Argument(help="A method or a memory (gotta ls).")]) -> None:
    """Print what a method or memory is and every setting it takes, with its presets.

    Examples:

    - `gotta show rotta`

    - `gotta show fps`
    """
    import yaml

    from gotta.memory import policies
    from gotta.methods import describe, methods

    if name in methods.names():
        described = describe(name)
    elif name in policies.names() or ":" in name:
        described = _memory(name, policies.get(name))
    else:
        raise unknown("method or memory", name, [*methods.names(), *policies.names()])
    print(yaml.safe_dump(described, sort_keys=False, allow_unicode=True, width=110), end="")


def _memory(name: str, policy: Any) -> dict[str, Any]:
    import inspect

    parameters = inspect.signature(policy).parameters.values()
    return {
        "name": name,
        "summary": " ".join((inspect.getdoc(policy) or "").split()),
        "settings": {p.name: None if p.default is p.empty else p.default for p in parameters},
        "needs": list(getattr(policy, "needs", ())),
        "refresh_every": getattr(policy, "refresh_every", None),
    }
