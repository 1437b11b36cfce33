"""The lines under a table that say which set-up it shows, collected from the specs of its runs."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from gotta.report.panel import Panel, Runs
from gotta.report.provenance import origin_lines
from gotta.streams import StreamSpec

SHOWN = 4
ALWAYS = ("order", "gamma", "schedule", "severity")  # of a stream; its other settings are told where they are unusual
USUAL = asdict(StreamSpec())


def setup_lines(panel: Panel) -> list[str]:
    """Data, model, stream, regime, capacity, pairing, seeds; a value that differs between runs is `several`."""
    runs = panel.runs
    if not runs:
        return []
    images = [domain.samples for run in runs for domain in run.summary.online.domains if domain.samples]
    capacities = [run.spec.memory.capacity for run in runs if run.spec.memory.capacity is not None]
    lines = [
        f"Data: {_section(runs, 'data')}; images per domain: {_values(images)}.",
        f"Model: {_section(runs, 'model')}.",
        f"Stream: {_section(runs, 'stream')}.",
        f"Memory: capacity {_values(capacities)}; pairing: {_values(run.spec.pairing for run in runs)}.",
        f"Regime: {_section(runs, 'regime')}.",
        f"Seeds: {', '.join(map(str, sorted({run.seed for run in runs})))}.",
    ]
    lines = [f"Recipe: {panel.recipe}.", *lines] if panel.recipe else lines
    lines += [line for line in (_choices(runs, "method"), _choices(runs, "memory")) if line]
    return [*lines, *origin_lines(runs)]


def order_notes(panel: Panel, columns: Iterable[str] | None = None) -> tuple[str, ...]:
    """What to know where some of these columns, or of all, have a prior."""
    if all(panel.priors[column] == "none" for column in (panel.priors if columns is None else columns)):
        return ()
    return (
        "Predictions with a prior use the order of the samples: where classes come in runs, the samples before tell of "
        "the next one. No gain of a memory is taken across a prior.",
    )


def environment_lines(panel: Panel) -> list[str]:
    """What the runs were made with, a line for each entry."""
    names = dict.fromkeys(name for run in panel.runs for name in run.environment)
    return [f"{name}: {_values(run.environment.get(name) for run in panel.runs)}" for name in names]


def _section(runs: Runs, section: str) -> str:
    values = _by_name(runs, section)
    parts = []
    for name, given in values.items():
        usual = section == "stream" and name not in ALWAYS and all(value == USUAL.get(name) for value in given)
        if not usual and any(value is not None for value in given):
            parts.append(_values(given) if name == "name" else f"{name} {_values(given)}")
    return ", ".join(parts) or "not stated"


def _choices(runs: Runs, section: str) -> str:
    """The settings of each method or memory that has any besides its name."""
    described = []
    named = {run.id: run.settings[f"{section}.name"] for run in runs}
    for name in dict.fromkeys(named.values()):
        values = _by_name(tuple(run for run in runs if named[run.id] == name), section)
        pairs = [
            f"{key} {_values(given)}"
            for key, given in values.items()
            if key not in ("name", "capacity") and any(value is not None for value in given)
        ]
        described += [f"{name} ({', '.join(pairs)})"] if pairs else []
    return f"Settings of each {section}: {'; '.join(sorted(described))}." if described else ""


def _by_name(runs: Runs, section: str) -> dict[str, list[Any]]:
    """The values that the runs have of each setting of a section."""
    found: dict[str, list[Any]] = {}
    for run in runs:
        for name, value in run.section(section).items():
            found.setdefault(name.removeprefix(f"{section}."), []).append(value)
    return found


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
