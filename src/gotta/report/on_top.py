"""Does a sample memory matter on top of class statistics and the prior? From the runs of `on-top` and `on-top-video`.

gotta bench on-top
gotta bench on-top-video
python -m gotta.report.on_top results/on-top.jsonl results/on-top-video.jsonl > docs/results/on-top.md
"""

import sys
from collections.abc import Sequence

from gotta.errors import GottaError
from gotta.report.pairs import Difference, difference
from gotta.report.results import read_results
from gotta.report.stored_run import Run

HEAD = """\
# Does a sample memory matter on top?

Every row predicts with class statistics and a prior (`sticky`, with `deskew` too). `deskew` stops there: it trains
nothing and keeps no image. The others also train the network, on the batch (*none*) or on
what a memory holds. A cell is what that adds to `deskew` on the same stream, in points of accuracy, with its interval
at 95 % over other seeds (and, where there is more than
one, other corruptions). **Bold**: the interval does not contain 0.

    gotta bench on-top
    gotta bench on-top-video
    python -m gotta.report.on_top results/on-top.jsonl results/on-top-video.jsonl > docs/results/on-top.md"""


def list_rows(runs: Sequence[Run]) -> dict[str, dict[str, Difference]]:
    """By method and memory, what the row adds to deskew."""
    base = [run for run in runs if run.spec.method.name == "deskew"]
    if not base:
        raise GottaError("there is no run of deskew to compare with. Run gotta bench on-top first.")
    groups: dict[str, dict[str, list[Run]]] = {}
    for run in runs:
        if run not in base:
            memory = run.spec.memory.name if run.spec.has_memory else "none"
            groups.setdefault(run.spec.method.name, {}).setdefault(memory, []).append(run)
    return {
        method: {memory: difference(found, base) for memory, found in sorted(rows.items(), key=_place)}
        for method, rows in groups.items()
    }


def tell(rows: dict[str, dict[str, Difference]]) -> str:
    """How many rows are above and below deskew, and what the best memory adds to one that holds the last samples.

    Training on the batch may take other steps than a memory, so FIFO is what the others are compared with.
    """
    found = [(f"{method} + {memory}", one) for method, row in rows.items() for memory, one in row.items()]
    sure = [(name, one.estimate.mean) for name, one in found if one.estimate and one.distinguishable]
    above, below = (sorted(name for name, mean in sure if sign * mean > 0) for sign in (1, -1))
    gains = {
        method: max(one.estimate.mean for memory, one in row.items() if memory not in ("none", "fifo") and one.estimate)
        - row["fifo"].estimate.mean
        for method, row in rows.items()
        if "fifo" in row and row["fifo"].estimate and len(row) > 2
    }
    over = ", ".join(f"{method} {gain:+.1f}" for method, gain in gains.items())
    return (
        f"Of {len(found)} rows {len(above)} are above deskew for certain{_listed(above)} and {len(below)} below"
        f"{_listed(below)}; the others cannot be told from it. What the best memory adds to FIFO, "
        f"which holds the last samples, in points: {over}."
    )


def page(stores: Sequence[Sequence[Run]]) -> str:
    parts = [HEAD]
    for runs in stores:
        rows = list_rows(runs)
        base = [run.accuracy or 0.0 for run in runs if run.spec.method.name == "deskew"]
        spec, seeds = runs[0].spec, sorted({run.seed for run in runs})
        parts += [
            f"## {spec.data.name}",
            f"`{spec.model.name}`, {', '.join(runs[0].domains)}, order {spec.stream['order']} (gamma "
            f"{spec.stream['gamma']}), memories of {spec.memory.capacity} rows, {len(seeds)} seeds. `deskew` alone: "
            f"{sum(base) / len(base):.1f} %.",
            tell(rows),
            _table(rows),
        ]
    return "\n\n".join(parts) + "\n"


def _table(rows: dict[str, dict[str, Difference]]) -> str:
    memories = list(dict.fromkeys(memory for row in rows.values() for memory in row))
    lines = ["| memory | " + " | ".join(rows) + " |", "|---|" + "---:|" * len(rows)]
    for memory in memories:
        cells = [_show(row[memory]) if memory in row else "" for row in rows.values()]
        lines.append(f"| {memory} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _show(one: Difference) -> str:
    found = one.estimate
    if found is None:
        return "not on the same stream"
    text = f"{found.mean:+.1f}" + ("" if found.half is None else f" ± {found.half:.1f}")
    return f"**{text}**" if one.distinguishable else text


def _place(row: tuple[str, object]) -> tuple[bool, str]:
    return row[0] != "none", row[0]


def _listed(names: Sequence[str]) -> str:
    return f" ({', '.join(names)})" if names else ""


def main(*folders: str) -> None:
    sys.stdout.write(page([read_results(folder).runs for folder in folders]))


if __name__ == "__main__":
    main(*sys.argv[1:])
