"""Plain words for the settings of a stream."""

from typing import Any

ORDERS = {
    "iid": "classes evenly mixed",
    "note_iid": "classes evenly mixed",
    "dirichlet": "classes in runs",
    "note": "classes in runs",
    "runs": "classes in runs",
    "sorted": "class by class",
    "lame": "class by class",
    "pairs": "two classes at a time, in turns",
}
SCHEDULES = {
    "continual": "one domain after the other",
    "one": "a single domain",
    "mixed": "all domains mixed",
    "gradual": "domains that come and go step by step",
    "recurring": "domains that come again and again",
}
STREAM = {"order": ORDERS, "schedule": SCHEDULES}
SHOWN = 4  # values of a list
COUNTED = {"batch_size": "batches of {}", "run_length": "runs of {}", "per_class": "{} images of each class"}


def describe(name: str, value: Any) -> str:
    """A data set or network by its name alone, any other setting with what it is."""
    last = name.split(".")[-1]
    if name in ("data.name", "model.name"):
        return show_value(value)
    if value in STREAM.get(last, ()):
        return f"{STREAM[last][value]} ({value})"
    if last == "per_class" and value is None:
        return COUNTED[last].format("all")
    return COUNTED[last].format(f"{value:g}") if last in COUNTED and value else f"{last} {show_value(value)}"


def show_value(value: Any) -> str:
    """A value in a sentence; of a long list its ends and its length."""
    if isinstance(value, list | tuple):
        shown = list(map(show_value, value))
        return " ".join(shown) if len(shown) <= SHOWN else f"{shown[0]} ... {shown[-1]} ({len(shown)})"
    return "none" if value is None else str(value)
