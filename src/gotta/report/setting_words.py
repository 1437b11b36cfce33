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
COUNTED = {"batch_size": "batches of {}", "run_length": "runs of {}", "per_class": "{} images of each class"}


def describe(name: str, value: Any) -> str:
    """A data set or network by its name alone, any other setting with what it is."""
    last = name.split(".")[-1]
    if name in ("data.name", "model.name"):
        return _show(value)
    if value in STREAM.get(last, ()):
        return f"{STREAM[last][value]} ({value})"
    return COUNTED[last].format(f"{value:g}") if last in COUNTED and value else f"{last} {_show(value)}"


def _show(value: Any) -> str:
    if isinstance(value, list | tuple) and len(value) > 4:
        return f"{value[0]} ... {value[-1]} ({len(value)})"
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
