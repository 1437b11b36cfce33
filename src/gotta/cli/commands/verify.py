"""`gotta verify`: kept runs are run again and compared."""

import sys
from math import inf
from pathlib import Path
from typing import Annotated

import typer


def verify(
    results: Path,
    sample: Annotated[int, typer.Option(min=1)] = 3,
    seconds: float = inf,
    seed: int | None = None,
    note: bool = True,
) -> None:
    """Run a sample of kept runs again and compare: bit for bit on the same processor and torch, else within what the
    samples of each domain allow. Runs whose data or weights are not here, and parts of one's own, are left out.

    Example: `gotta verify results/mini.jsonl --sample 3`. Exit code 1 if a run has other numbers.

    Arguments:
        results: Lines that `gotta keep` wrote, a folder of them, or a folder of runs.

    Options:
        sample: How many runs are drawn.
        seconds: Only runs that took at most so many seconds.
        seed: Draws the same sample again.
        note: Add what was found to verified.jsonl beside the lines.
    """
    from gotta.experiment.sweep.kept import OTHER, VERIFIED, existing_runs
    from gotta.experiment.sweep.kept import note as add_notes
    from gotta.workflow.verify import tell_left_out
    from gotta.workflow.verify import verify as run_again

    runs, found = existing_runs(results), []
    for one in run_again(runs, sample, seconds, seed):
        print(one, flush=True)
        found.append(one)
    if left_out := tell_left_out(runs, seconds):
        print(f"never drawn: {left_out}")
    if note:
        add_notes(found, (results if results.is_dir() else results.parent) / VERIFIED)
    if wrong := [one.id for one in found if one.outcome == OTHER]:
        told = f"{len(wrong)} of {len(found)} runs gave other numbers than are kept: {', '.join(wrong)}"
        print(f"gotta: {told}.", file=sys.stderr)
        raise typer.Exit(1)
