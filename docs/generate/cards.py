"""A card for each memory and method: rule, settings, cost, and from stored results where it won and lost."""

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generate.evidence import Case, memory_cases, method_cases, tell
from gotta.experiment.sweep.kept import Kept
from gotta.memory import policies
from gotta.methods import describe, methods
from gotta.report.panel import Panel
from gotta.report.results import read_results
from gotta.safe_text import tell_number

ROOT = Path(__file__).parents[2]
SPEEDS = ROOT / "benchmarks" / "memory.txt"
METHODS = ROOT / "docs" / "methods.md"
RESULTS = ROOT / "results"


def card_pages() -> dict[str, str]:
    """File name -> text."""
    panels = read_panels(RESULTS)
    memories, adapted = memory_cases(panels), method_cases(panels)
    speeds = read_speeds(SPEEDS.read_text(encoding="utf-8"))
    passes = read_passes(METHODS.read_text(encoding="utf-8"))
    return {
        "cards/memories.md": page(
            "Memory cards",
            "Rule, settings, cost, and where it won and lost. [The memories](../../memories.md) has them in one table.",
            [memory_card(name, speeds.get(name), memories.get(name, ())) for name in policies.names()],
        ),
        "cards/methods.md": page(
            "Method cards",
            "Rule, settings, cost, and where it won and lost. [Methods](../../methods.md) has the formulas.",
            [method_card(name, passes.get(name, ()), adapted.get(name, ())) for name in methods.names()],
        ),
    }


def read_panels(folder: Path) -> Sequence[Panel]:
    """The tables of all stored results; none where there is no such folder."""
    if not any(folder.glob("*.jsonl")):
        return ()
    return read_results(Kept(folder)).placed.panels


def page(title: str, words: str, cards: list[list[str]]) -> str:
    made = "This page is made from the code, `benchmarks/memory.txt` and `results/` by `make docs`."
    return "\n".join([f"# {title}", "", words, made, "", *(line for card in cards for line in [*card, ""])])


def memory_card(name: str, speed: tuple[float, float] | None, cases: Sequence[Case]) -> list[str]:
    policy: Any = policies.get(name)
    defaults = {p.name: p.default for p in inspect.signature(policy).parameters.values()}
    cost = "Not in the benchmark of speed."
    told = tell(cases, "running statistics without a memory")
    if speed:
        cost = f"{speed[0]:g} microseconds per sample, {speed[1]:g} % of a step (10 classes, 64 rows; a noisy machine)."
    return [
        f"## {name}",
        "",
        f"**Rule.** {first_paragraph(policy)}",
        "",
        f"**Looks at** {', '.join(getattr(policy, 'needs', ())) or 'nothing of a sample'}.",
        f"**Settings**: {shown(defaults)}.",
        "",
        f"**Cost.** {cost}",
        "",
        "**Wins and losses.** " + told[0],
        *told[1:],
    ]


def method_card(name: str, passes: Sequence[str], cases: Sequence[Case]) -> list[str]:
    found = describe(name)
    words = [f"{when}, {value['name']}" for when, value in found["statistics"].items()]
    told = tell(cases, "the source model")
    return [
        f"## {name}",
        "",
        f"**Rule.** {first_paragraph(methods.get(name))}",
        *([f"*{found['paper']}*"] if found["paper"] else []),
        "",
        f"**Predicts with these statistics**: {'; '.join(words)}.",
        f"**Settings** (preset `{next(iter(found['presets']), 'none')}`): "
        f"{shown(next(iter(found['presets'].values()), {}))}.",
        "",
        f"**Cost.** {'; '.join(passes) or 'not counted'}.",
        "",
        "**Wins and losses.** " + told[0],
        *told[1:],
    ]


def read_passes(text: str) -> dict[str, list[str]]:
    """Method -> forwards and backwards per step, from the table in docs/methods.md, which tests count."""
    row = re.compile(r"^\| `(\w+)`( \(\w+\))? \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$", re.MULTILINE)
    found: dict[str, list[str]] = {}
    for name, case, *counts in row.findall(text):
        alone, with_memory = (
            f"{tell_number(int(a), 'forward')} and {tell_number(int(b), 'backward')}"
            for a, b in (counts[:2], counts[2:])
        )
        words = f"{alone} per step without a memory, {with_memory} with one"
        found.setdefault(name, []).append(words + case)
    return found


def read_speeds(text: str) -> dict[str, tuple[float, float]]:
    """Memory -> microseconds per sample and share of a step, at 10 classes and 64 rows."""
    found = re.findall(r"^ *10x64 (\w+) +([\d.]+) us +([\d.]+)%", text, re.MULTILINE)
    return {name: (float(micro), float(share)) for name, micro, share in found}


def first_paragraph(thing: Any) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"`{name}` = {value}" for name, value in settings.items()) or "none"
