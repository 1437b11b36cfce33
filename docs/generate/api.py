"""The API reference: a page for each room with everything its `__all__` names, as directives for autodoc."""

import inspect
from importlib import import_module
from types import ModuleType
from typing import Any

ROOMS = {
    "gotta": "The package",
    "gotta.memory": "Memories",
    "gotta.methods": "Methods",
    "gotta.statistics": "Statistics",
    "gotta.priors": "Priors",
    "gotta.streams": "Streams",
    "gotta.data": "Data",
    "gotta.data.corruptions": "Corruptions",
    "gotta.models": "Networks",
    "gotta.metrics": "Metrics",
    "gotta.workflow": "Plan, run, conclude",
    "gotta.checks.memory": "Checks of memories",
    "gotta.checks.method": "Checks of methods",
    "gotta.checks.statistics": "Checks of statistics",
    "gotta.checks.prior": "Checks of priors",
    "gotta.checks.stream": "Checks of orders and schedules",
    "gotta.checks.dataset": "Checks of data sets",
    "gotta.report.figures": "Figures of a report",
    "gotta.doctor": "The doctor",
    "gotta.hub": "The hub",
    "gotta.types": "Types",
    "gotta.state": "State",
    "gotta.errors": "Errors",
    "gotta.processor": "The processor",
}


def api_pages() -> dict[str, str]:
    """File name -> text. A name that stands on a page already is a link there."""
    rooms = {room: (title, tuple(import_module(room).__all__)) for room, title in ROOMS.items()}
    pages: dict[str, str] = {}
    known: dict[int, str] = {}
    for room, (title, names) in rooms.items():
        module = import_module(room)
        present = [name for name in names if hasattr(module, name)]
        parts = [describe(module, name, known) for name in present]
        heading = f"{title}: {room}" if room != "gotta" else "The package: gotta"
        doc = (module.__doc__ or "").strip()
        pages[f"api/{room}.rst"] = "\n".join([heading, "=" * len(heading), "", doc, "", *parts])
    entries = "\n".join(f"   {room}" for room in rooms)
    head = "API\n===\n\nEvery public name, from its docstring. What is not here may change without notice."
    pages["api/index.rst"] = f"{head}\n\n.. toctree::\n   :maxdepth: 1\n\n{entries}\n"
    return pages


def describe(module: ModuleType, name: str, known: dict[int, str]) -> str:
    """The directive for one public name."""
    thing: Any = getattr(module, name)
    full = f"{module.__name__}.{name}"
    if inspect.ismodule(thing):
        return f"``{full}``\n   {first_sentence(thing)} See :doc:`{thing.__name__}`.\n"
    if inspect.isclass(thing) or inspect.isroutine(thing):
        key = id(getattr(thing, "__func__", thing))  # of a method that several rooms offer
        if key in known:
            return f"``{full}``\n   is :py:obj:`{known[key]}`.\n"
        known[key] = full
        if inspect.isclass(thing):
            return f".. autoclass:: {full}\n{'   :inherited-members:' if has_hidden_base(thing) else ''}\n"
        return f".. autofunction:: {full}\n"
    words = describe_value(thing)
    return f".. py:data:: {full}\n   :no-index:\n\n   {words}\n"


def has_hidden_base(cls: type) -> bool:
    """Whether it inherits from classes of gotta alone, some of which no page shows: then it shows their members."""
    bases = [base for base in cls.__mro__[1:] if base is not object]
    ours = all(base.__module__.startswith("gotta.") for base in bases)
    return ours and any(base.__name__ not in getattr(import_module(_room(base)), "__all__", ()) for base in bases)


def _room(cls: type) -> str:
    return ".".join(cls.__module__.split(".")[:2])


def describe_value(value: Any) -> str:
    """A constant as it is, a registry by what it knows."""
    if hasattr(value, "names"):
        return f"The known {value.kind} parts by name: " + ", ".join(f"``{name}``" for name in value.names()) + "."
    text = repr(value)
    return f"``{text}``" if len(text) < 400 else f"A {type(value).__name__} of {len(value)}: ``{text[:300]}`` ..."


def first_sentence(thing: Any) -> str:
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".") + "."
