"""An adapted model in a few lines, for people."""

from typing import TYPE_CHECKING

from gotta.safe_text import tell_number

if TYPE_CHECKING:
    from gotta.core.between_steps import BetweenSteps


def describe(adapted: "BetweenSteps") -> str:
    """What adapts, how many parameters, which memory, the cost so far."""
    method, memory, trained = adapted.method, adapted.memory, adapted.method.trained
    spent = method.cost.summary()["total"]
    names = ", ".join(list(trained)[:3]) + (", ..." if len(trained) > 3 else "")
    everything = sum(parameter.numel() for parameter in adapted.model.parameters())
    lines = [
        f"method={type(method).__name__.lower()}, statistics={method.statistics.name}"
        + (", frozen" if adapted.frozen else ""),
        f"{sum(p.numel() for p in trained.values()):,} trained parameters of {everything:,}"
        + (f": {names}" if names else ""),
        f"memory={memory.policy!r}, {len(memory)} of {memory.capacity} rows" if memory.lasts else "memory=none",
        f"{tell_number(adapted.adaptations, 'adaptation')} in {tell_number(adapted.offered, 'sample')}",
        f"cost so far: {tell_number(spent['forwards'], 'forward')}, {tell_number(spent['backwards'], 'backward')}, "
        f"{spent['seconds']:.2f} s",
    ]
    lines += [*method.prior.describe(), *method.statistics.describe()]
    if adapted.guard is not None:
        lines.append(repr(adapted.guard))
    lines += adapted.notes
    return f"Adapted {type(adapted.model).__name__}(\n  " + "\n  ".join(lines) + "\n)"
