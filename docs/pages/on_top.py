"""Does a sample memory matter on top of class statistics and the prior? From `on-top` and `on-top-video`."""

from collections.abc import Sequence
from pathlib import Path

from gotta.groups import group
from gotta.report.pairs import Difference, difference
from gotta.report.stored_run import Run
from pages.parts import grid, join, read, tell_gap

HEAD = """\
# Does a sample memory matter on top?

Every row predicts with class statistics and a prior (`sticky`, also for `deskew`), which uses the order of samples (»).
`deskew` stops there: it trains
nothing and stores no image. The other rows also train the network, on the batch (*none*) or on a memory. A cell shows
what this adds to `deskew` on the same stream, in points of accuracy, with its 95 % interval over seeds and
corruptions, or its range where runs are too few. **Bold**: the interval excludes 0. Training
[waits for a change of domain](../deskew.md#class-statistics). On the tracks of signs none is found, so nothing is
trained there, and every row is `deskew`.

    gotta bench on-top
    gotta bench on-top-video
    python docs/make_pages.py on_top"""
Rows = dict[str, dict[str, Difference]]


def make(root: Path) -> dict[Path, str]:
    parts = [HEAD]
    for name in ("on-top", "on-top-video"):
        runs = read(root, name)
        rows, base = list_rows(runs)
        spec, seeds = runs[0].spec, {run.seed for run in runs}
        parts += [
            f"## {spec.data.name}",
            f"`{spec.model.name}`, {', '.join(runs[0].domains)}, {spec.stream['order'].capitalize()} order (gamma "
            f"{spec.stream['gamma']}), memories of {spec.memory.capacity} rows, {len(seeds)} seeds. `deskew` alone: "
            f"{sum(run.accuracy or 0.0 for run in base) / len(base):.1f} %.",
            tell(rows),
            table(rows),
        ]
    return {root / "docs/results/on-top.md": join(parts)}


def list_rows(runs: Sequence[Run]) -> tuple[Rows, list[Run]]:
    """By method and memory, what the row adds to deskew; and the runs of deskew."""
    base = [run for run in runs if run.spec.method.name == "deskew"]
    found: Rows = {}
    for method, others in group((run for run in runs if run not in base), lambda run: run.spec.method.name).items():
        rows = group(others, lambda run: run.spec.memory.name if run.spec.has_memory else "none")
        names = sorted(rows, key=lambda name: (name != "none", name))
        found[method] = {memory: difference(rows[memory], base) for memory in names}
    return found, base


def tell(rows: Rows) -> str:
    """How many rows are above and below deskew, and what the best memory adds to one that holds the last samples."""
    found = [(f"{method} + {memory}", one) for method, row in rows.items() for memory, one in row.items()]
    above, below = (sorted(name for name, one in found if one.verdict == sign) for sign in (1, -1))
    gains = {
        method: max(one.estimate.mean for memory, one in row.items() if memory not in ("none", "fifo") and one.estimate)
        - row["fifo"].estimate.mean
        for method, row in rows.items()
        if "fifo" in row and row["fifo"].estimate and len(row) > 2
    }
    over = ", ".join(f"{method} {gain:+.1f}" for method, gain in gains.items())
    return (
        f"Of {len(found)} rows {len(above)} are significantly above deskew{_listed(above)} and {len(below)} below"
        f"{_listed(below)}. The best memory less FIFO, which holds the last samples, in points: {over}."
    )


def table(rows: Rows) -> str:
    memories = dict.fromkeys(memory for row in rows.values() for memory in row)
    cells = {m: [_show(row[m]) if m in row else "" for row in rows.values()] for m in memories}
    return grid("memory", list(rows), cells)


def _show(one: Difference) -> str:
    return f"**{tell_gap(one)}**" if one.verdict else tell_gap(one)


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""
