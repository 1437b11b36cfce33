"""`gotta replay`: the same recorded stream through other memories, without a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gotta.memory.journal import Journal, Replay

COLUMNS = ("rows", "classes", "balance", "near_duplicates", "nn_distance", "coverage", "age_mean")


def replay(
    journal: Annotated[Path, typer.Argument(help="A journal of `gotta run --journal` or Memory(..., journal=True).")],
    memory: Annotated[
        str, typer.Option(help="The memories to compare: names, wildcards or module:Class, by comma.")
    ] = ("fifo,reservoir,pbrs,cstu,cds,fps"),
    capacity: Annotated[int | None, typer.Option(help="Default: the recorded memory's.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the memories.")] = 0,
) -> None:
    """Offer a recorded stream to other memories and compare what they hold, how diverse it is, and what it cost.

    Exact if the model was frozen while recording; otherwise another memory would have led to other predictions.

    Example: `gotta replay fifo.npz --memory fps,cstu`
    """
    from rich.table import Table

    from gotta.cli.terminal import Console
    from gotta.memory import journal as journals
    from gotta.memory import policies

    recorded = journals.load(journal)
    table = Table(title=f"{len(recorded):,} samples from {journal}", title_justify="left", box=None, pad_edge=False)
    for name in ("memory", *COLUMNS, "us/sample"):
        table.add_column(
            name.replace("_", " ").replace("duplicates", "dup"), justify="left" if name == "memory" else "right"
        )
    exact, decisions = True, []
    for name in policies.match(memory):
        result = journals.replay(recorded, name, capacity=capacity, seed=seed)
        exact &= result.exact
        table.add_row(name, *_numbers(recorded, result))
        counts = ", ".join(f"{reason} {count}" for reason, count in result.memory.stats.items() if count)
        decisions.append(f"{name}: {counts}")
    console = Console()
    console.print(table)
    console.print("\n".join(["", *decisions, ""]), highlight=False, markup=False)
    console.print("Exact: the model was frozen." if exact else "Approximate: the model changed while recording.")


def _numbers(recorded: "Journal", result: "Replay") -> list[str]:
    import numpy as np

    from gotta.metrics import Buffer

    memory = result.memory
    buffer = Buffer(memory.capacity, memory.num_classes)
    unknown = np.full(len(recorded), -1)
    buffer.update(unknown, unknown, recorded.column("embedding"))
    held = buffer.measure(memory.peek(), memory.slots)
    shown = [held[name] for name in COLUMNS]
    numbers = ["-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value) for value in shown]
    return [*numbers, f"{1e6 * result.seconds / len(recorded):.1f}"]
