"""An adapted model in a few lines, for people."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gotta.core.inputs import runs_uncompiled
from gotta.safe_text import tell_number

if TYPE_CHECKING:
    from gotta.core.between_steps import BetweenSteps

MOST_TOLD = 8


def describe(adapted: "BetweenSteps") -> str:
    """What adapts, how many parameters, which memory, the cost so far."""
    method, memory, trained = adapted.method, adapted.memory, adapted.method.trained
    spent = method.cost.summary()["total"]
    names = tell_layers(trained)
    everything = sum(parameter.numel() for parameter in adapted.model.parameters())
    lines = [
        f"method={method.name}, statistics={method.statistics.name}" + (", frozen" if adapted.frozen else ""),
        f"{sum(p.numel() for p in trained.values()):,} trained parameters of {everything:,}"
        + (f": {names}" if names else ""),
        f"memory={memory.policy!r}, {len(memory)} of {memory.capacity} rows" if memory.lasts else "memory=none",
        f"{tell_number(adapted.adaptations, 'adaptation')} in {tell_number(adapted.offered, 'sample')}"
        + (", at home, where nothing is trained" if method.domain == 0 else ""),
        f"cost so far: {tell_number(spent['forwards'], 'forward')}, {tell_number(spent['backwards'], 'backward')}, "
        f"{spent['seconds']:.2f} s",
    ]
    if adapted.held_streams:
        held = tell_number(len(adapted.held_streams), "stream")
        lines.append(f"{held} with a name, of at most {adapted.limits.streams:,}; what follows is of the one without")
    if runs_uncompiled(method):
        lines.append(f"the compiled network runs uncompiled under statistics={method.statistics.name}")
    lines += [*method.prior.describe(), *method.statistics.describe()]
    if adapted.guard is not None:
        lines.append(repr(adapted.guard))
    lines += adapted.notes
    return f"Adapted {type(adapted.model).__name__}(\n  " + "\n  ".join(lines) + "\n)"


def tell_layers(names: Iterable[str]) -> str:
    """Where parameters are, briefly: each name up to its first number, and numbers that follow one another as a range.

    >>> tell_layers(["bn1.weight", "blocks.0.norm1.weight", "blocks.1.norm1.weight", "norm.bias"])
    'bn1, blocks.0-1, norm'
    """
    places: dict[str, list[int]] = {}
    for name in names:
        found = re.match(r"(\D*?)(\d+)(?=\.|$)", name)
        place, number = (found[1], int(found[2])) if found else (name.rpartition(".")[0] or name, -1)
        places.setdefault(place, []).append(number)
    told = []
    for place, numbers in places.items():
        first, last = min(numbers), max(numbers)
        if {*numbers} == {*range(first, last + 1)}:
            told.append(place if first < 0 else f"{place}{first}" + (f"-{last}" if last > first else ""))
        else:
            told += [f"{place}{number}" for number in sorted({*numbers})]
    return ", ".join(told[:MOST_TOLD]) + (", ..." if len(told) > MOST_TOLD else "")
