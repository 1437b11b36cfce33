"""The rate at which running statistics did best, for each method with each memory: what `method.rate: best` stands for.

The recipe `statistics` measures, `docs/make_pages.py` chooses, `best_rates.yaml` keeps the choice.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gotta.experiment.spec.sections import name_of
from gotta.json_yaml import parse_yaml

BEST = "best"
FILE = Path(__file__).with_suffix(".yaml")


@cache
def best_rates() -> dict[tuple[str, str], float]:
    """By method, and memory or control. What has not been measured is not there."""
    chosen = parse_yaml(FILE.read_text()).get("rates") or {}
    return {(method, row): float(found["rate"]) for method, rows in chosen.items() for row, found in rows.items()}


def settle_rate(sections: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """A partial spec with the number in the place of `best`; and the complaint where nobody has measured one."""
    method = sections.get("method")
    if not isinstance(method, Mapping) or method.get("rate") != BEST:
        return dict(sections), []
    key = place_of(sections)
    rate = best_rates().get(key)
    return {**sections, "method": {**method, "rate": rate}}, [] if rate else [_complain(*key)]


def place_of(sections: Mapping[str, Any]) -> tuple[str, str]:
    """The method of a partial spec, and its memory or control."""
    return name_of("method", sections), str(sections.get("control") or name_of("memory", sections))


def _complain(method: str, row: str) -> str:
    known = [name for of, name in best_rates() if of == method]
    measured = f"measured for {method}: {', '.join(known)}" if known else f"nothing is measured for {method}"
    return f"method.rate=best: nobody measured it for {method} with {row} ({measured}). Give a number: method.rate=0.1."
