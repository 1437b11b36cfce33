"""`gotta replay`: the same recorded stream through other memories, without a model."""

from pathlib import Path
from typing import TYPE_CHECKING

from gotta.cli.terminal import Console

if TYPE_CHECKING:
    from gotta.memory.journal import Journal
    from gotta.memory.replay import Replay

COLUMNS = ("rows", "classes", "balance", "near_duplicates", "nn_distance", "coverage", "age_mean")


def replay(
    journal: Path,
    memory: str = "fifo,reservoir,pbrs,cstu,cds,fps",
    capacity: int | None = None,
    seed: int = 0,
    picture: Path | None = None,
) -> None:
    """Offer a recorded stream to other memories and compare what they hold, how diverse it is, and what it cost.

    Exact if the model was frozen while recording; otherwise another memory would have led to other predictions.

    Examples:

    - `gotta replay fifo.npz --memory fps,cstu`

    - `gotta replay fifo.npz --picture held.svg` : what each of them holds, in the style of the paper's Figure 1

    Arguments:
        journal: A journal of `gotta run --journal` or Memory(..., journal=True).

    Options:
        memory: The memories to compare: names, wildcards or module:Class, by comma.
        capacity: Default: the recorded memory's.
        seed: Seed of the memories.
        picture: Draw what each memory holds: a .svg or .png file.
    """
    from rich.table import Table

    from gotta.memory import journal as journals
    from gotta.memory import policies
    from gotta.memory import replay as replays

    recorded = journals.load(journal)
    table = Table(title=f"{len(recorded):,} samples from {journal}", title_justify="left", box=None, pad_edge=False)
    for name in ("memory", *COLUMNS, "us/sample"):
        title = name.replace("_", " ").replace("duplicates", "dup")
        table.add_column(title, justify="left" if name == "memory" else "right")
    exact, decisions, held = True, [], {}
    for name in policies.match(memory):
        result = replays.replay(recorded, name, capacity=capacity, seed=seed)
        exact &= result.exact
        held[name] = result.memory.peek().x.tolist()
        table.add_row(name, *_numbers(recorded, result))
        counts = ", ".join(f"{reason} {count}" for reason, count in result.memory.stats.items() if count)
        decisions.append(f"{name}: {counts}")
    console = Console()
    console.print(table)
    console.print("\n".join(["", *decisions, ""]))
    console.print("Exact: the model was frozen." if exact else "Approximate: the model changed while recording.")
    if picture is not None:
        _draw(recorded, held, picture)
        console.print(f"Picture: {picture}", soft_wrap=True)


def _draw(recorded: "Journal", held: dict[str, list[int]], to: Path) -> None:
    from gotta.files import write_atomically
    from gotta.report.figures.raster import png
    from gotta.report.figures.svg import svg
    from gotta.report.memory_picture import draw_held

    at = {int(id): position for position, id in enumerate(recorded.column("id"))}
    places = {name: [at[id] for id in ids] for name, ids in held.items()}
    drawing = draw_held(recorded.column("embedding").astype(float), recorded.column("label"), places)
    write_atomically(to, png(drawing) if to.suffix == ".png" else svg(drawing) + "\n")


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
