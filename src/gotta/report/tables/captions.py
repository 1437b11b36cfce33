"""The lines under a table that say which set-up it shows, collected from the specs of its runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from gotta.experiment.sweep.store import Run
from gotta.report.places import flat, section_name
from gotta.streams import StreamSpec

SHOWN = 4
ALWAYS = ("order", "gamma", "schedule", "severity")  # of a stream; its other settings are told where they are unusual
USUAL = asdict(StreamSpec())


def setup_lines(runs: Sequence[Run]) -> list[str]:
    """Data, model, stream, regime, capacity, pairing, seeds; a value that differs between runs is `several`."""
    if not runs:
        return []
    lines = [
        f"Data: {_section(runs, 'data')}; images per domain: {_values(_images_per_domain(runs))}.",
        f"Model: {_section(runs, 'model')}.",
        f"Stream: {_section(runs, 'stream')}.",
        f"Memory: capacity {_values(_capacities(runs))}; pairing: {_values(run.spec.get('pairing') for run in runs)}.",
        f"Regime: {_section(runs, 'regime')}.",
        f"Seeds: {', '.join(map(str, sorted({run.spec.get('seed', 0) for run in runs})))}.",
    ]
    recipes = [run.spec["recipe"] for run in runs if run.spec.get("recipe")]
    lines = [f"Recipe: {_values(recipes)}.", *lines] if recipes else lines
    return lines + [line for line in (_choices(runs, "method"), _choices(runs, "memory")) if line]


def environment_lines(runs: Sequence[Run]) -> list[str]:
    """What the runs were made with, a line for each entry."""
    names = dict.fromkeys(name for run in runs for name in run.environment)
    return [f"{name}: {_values(run.environment.get(name) for run in runs)}" for name in names]


def _section(runs: Sequence[Run], section: str) -> str:
    settings = [flat(run.spec.get(section)) for run in runs]
    parts = []
    for name in dict.fromkeys(name for setting in settings for name in setting if name != "seed"):
        values = [setting[name] for setting in settings if name in setting]
        usual = section == "stream" and name not in ALWAYS and all(value == USUAL.get(name) for value in values)
        if not usual and any(value is not None for value in values):
            parts.append(_values(values) if name == "name" else f"{name} {_values(values)}")
    return ", ".join(parts) or "not stated"


def _choices(runs: Sequence[Run], section: str) -> str:
    """The settings of each method or memory that has any besides its name."""
    described = []
    for name in dict.fromkeys(section_name(run, section) for run in runs):
        settings = [flat(run.spec.get(section)) for run in runs if section_name(run, section) == name]
        keys = [k for k in dict.fromkeys(k for s in settings for k in s) if k not in ("name", "capacity")]
        values = {key: [s[key] for s in settings if key in s] for key in keys}
        pairs = [f"{key} {_values(v)}" for key, v in values.items() if any(item is not None for item in v)]
        described += [f"{name} ({', '.join(pairs)})"] if pairs else []
    return f"Settings of each {section}: {'; '.join(sorted(described))}." if described else ""


def _images_per_domain(runs: Iterable[Run]) -> list[int]:
    domains = [domain for run in runs for domain in run.summary.get("online", {}).get("domains", [])]
    return [domain["samples"] for domain in domains if domain.get("samples")]


def _capacities(runs: Iterable[Run]) -> list[Any]:
    values = [flat(run.spec.get("memory")).get("capacity") for run in runs]
    return [value for value in values if value is not None]


def _values(values: Iterable[Any]) -> str:
    """One value, or `several` with the first few of them."""
    distinct = list(dict.fromkeys(map(_show, values)))
    if not distinct:
        return "not stated"
    if len(distinct) == 1:
        return distinct[0]
    return f"several ({', '.join(distinct[:SHOWN])}{', ...' if len(distinct) > SHOWN else ''})"


def _show(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, list):
        items = [_show(item) for item in value]
        return " ".join(items) if len(items) <= SHOWN else f"{items[0]} ... {items[-1]} ({len(items)})"
    return str(value)
