"""`gotta ls`: everything that has a name."""

import inspect
from collections.abc import Callable
from typing import Any

from gotta.cli.options import AsJson, show_answer
from gotta.cli.terminal import Console
from gotta.errors import GottaError, check_known

GROUPS = {"streams": ("orders", "schedules", "domain-orders")}


def ls(kind: str = "", as_json: AsJson = False) -> None:
    """List memories, methods, statistics, priors, models, data sets, corruptions, streams, protocols and recipes.

    Example: `gotta ls memories`

    Arguments:
        kind: Only this kind, such as memories.
    """
    from rich.table import Table
    from rich.text import Text

    listed = everything()
    if kind:
        check_known("kind", kind, {**listed, **GROUPS})
    wanted = [name for name in listed if kind in ("", name) or name in GROUPS.get(kind, ())]
    if as_json:
        return show_answer({name: listed[name]() for name in wanted}, as_json)
    table = Table(box=None, pad_edge=False, show_header=False)
    for name in wanted:
        table.add_row(Text(name, "bold"), "")
        for thing, what in listed[name]().items():
            table.add_row(f"  {thing}", what)
    Console().print(table)


def everything() -> dict[str, Callable[[], dict[str, str]]]:
    """Of every kind what lists its names, each with a line on what it is."""
    from gotta.core.regime import REGIMES
    from gotta.data import EXTRA, STANDARD
    from gotta.experiment.recipe.protocol import load_protocol, protocols
    from gotta.experiment.recipe.recipe import load_recipe, recipes
    from gotta.experiment.spec.completing import CONTROLS
    from gotta.experiment.spec.user_parts import REGISTRIES
    from gotta.streams import DOMAIN_ORDERS

    def registered(kind: str) -> Callable[[], dict[str, str]]:
        known = REGISTRIES[kind]
        return lambda: {name: _line(known, name) for name in known.names()}

    return {
        "memories": registered("memory"),
        "methods": registered("method"),
        "statistics": registered("statistics"),
        "priors": registered("prior"),
        "models": _models,
        "architectures": registered("model"),
        "datasets": registered("data"),
        "corruptions": lambda: {name: "standard" for name in STANDARD} | {name: "extra" for name in EXTRA},
        "orders": registered("order"),
        "schedules": registered("schedule"),
        "domain-orders": lambda: {name: ", ".join(DOMAIN_ORDERS[name][:3]) + ", ..." for name in DOMAIN_ORDERS},
        "regimes": lambda: {name: first_paragraph(REGIMES[name]) for name in REGIMES},
        "controls": lambda: dict(CONTROLS),
        "protocols": lambda: {name: load_protocol(name).title for name in protocols()},
        "recipes": lambda: {name: load_recipe(name).title for name in recipes()},
    }


def _line(known: Any, name: str) -> str:
    """What it is; of a plug-in that cannot be imported, why, so that the others are listed all the same."""
    try:
        return first_paragraph(known.get(name))
    except GottaError as error:
        return str(error)


def _models() -> dict[str, str]:
    from gotta.models import architectures, bundled
    from gotta.models.foreign import LIBRARIES

    return (
        {name: _model_line(name) for name in sorted({*bundled(), *architectures.names()})}
        | {"module:function": "what a function of your own builds"}
        | {f"{library}:NAME": f"any classifier of {library}, where installed; weights=FILE" for library in LIBRARIES}
        | {"hf:OWNER/NAME": "an image classifier of Hugging Face, as timm:NAME too with weights=pretrained@REVISION"}
    )


def first_paragraph(thing: Any) -> str:
    """What a docstring says before its first empty line, on one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def _model_line(name: str) -> str:
    """Size and input of a network, and how good it is where its weights are bundled."""
    from gotta.models import bundled, record
    from gotta.models.zoo import parameters

    if name not in bundled():
        return f"{parameters(name) / 1e6:.2f} million parameters; weights=FILE"
    found = record(name)
    accuracy = found["training"].get("test_accuracy", float("nan"))
    size = f"{parameters(found['architecture']) / 1e6:.2f} million parameters"
    return f"{size}; bundled: {found['num_classes']} classes, {accuracy:.2f} % on its clean test set"
