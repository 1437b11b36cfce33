"""The table of docs/latency.md, from what `benchmarks/serve.py` has measured (benchmarks/serve.json)."""

import json
from pathlib import Path
from typing import Any

from pages.parts import between, grid

KEPT = "benchmarks/serve.json"
TRAINING = ("tent", "rotta", "note", "sar")  # whose processor time is shown
LIMIT = 1.3  # times the bare network's p99, of batches of 16 behind
COLUMNS = ("bare p50", "bare p99", "at once p50", "at once p99", "behind p50", "behind p99", "behind / bare", "dropped")


def make(root: Path) -> dict[Path, str]:
    path = root / "docs/latency.md"
    said = json.loads((root / KEPT).read_text(encoding="utf-8")) if (root / KEPT).exists() else None
    content = "Not measured on a quiet machine yet." if said is None else tell(said)
    text = between(path.read_text(encoding="utf-8"), "latency", content, path)
    return {path: text if said is None else between(text, "processor time", tell_processor_time(said), path)}


def tell_processor_time(said: dict[str, Any]) -> str:
    """What the calling thread spends on a batch of 16, which hardly depends on other work on the machine."""
    rows = {}
    for method in TRAINING:
        found = [row for row in said["rows"] if (row["method"], row["batch"]) == (method, 16)]
        at_once, behind = of(found, False), of(found, True)
        assert at_once is not None
        assert behind is not None
        times = [(at_once["bare_cpu_p50"], at_once["bare_cpu_p99"])]
        times += [(row["cpu_p50"], row["cpu_p99"]) for row in (at_once, behind)]
        rows[method] = [f"{half:.1f}, {most:.1f}" for half, most in times]
    return grid("method", ("bare network, p50 and p99", "at once", "behind"), rows)


def tell(said: dict[str, Any]) -> str:
    """A table for each size of batch, and what it is to be held against."""
    parts = [
        f"{said['processors']} processors with a load of {said['load']:.1f} before the first request, torch "
        f"{said['torch']}; milliseconds from arrival to answer at half load."
    ]
    for size in sorted({row["batch"] for row in said["rows"]}):
        rows = [row for row in said["rows"] if row["batch"] == size]
        both = {
            name: [row for row in rows if row["method"] == name] for name in dict.fromkeys(r["method"] for r in rows)
        }
        slow = [name for name, found in both.items() if (there := of(found, True)) and ratio(there) > LIMIT]
        held = f" Above {LIMIT} times the bare network: {', '.join(slow) or 'none'}." if size == 16 else ""
        own = [name for name in slow if predicts_slowly(of(both[name], True))]
        held += f" Of these, the prediction itself takes as long: {', '.join(own)}." if held and own else ""
        parts += [f"**Batches of {size}.**{held}", grid("method", COLUMNS, {n: line(f) for n, f in both.items()})]
    return "\n\n".join(parts)


def of(found: list[dict[str, Any]], background: bool) -> dict[str, Any] | None:
    return next((row for row in found if row["background"] is background), None)


def ratio(row: dict[str, Any]) -> float:
    return float(row["p99"] / row["bare_p99"])


def predicts_slowly(row: dict[str, Any] | None) -> bool:
    """Whether the calling thread alone needs more than the limit on the processor: nothing can be put behind then."""
    return row is not None and float(row["cpu_p50"] / row["bare_cpu_p50"]) > LIMIT


def line(found: list[dict[str, Any]]) -> list[str]:
    """Of a method that has nothing to put behind only what it takes at once."""
    behind, bare = of(found, True), found[0]
    cells = [f"{time:.1f}" for time in (bare["bare_p50"], bare["bare_p99"], bare["p50"], bare["p99"])]
    if behind is None:
        return [*cells, *["-"] * 4]
    return [*cells, f"{behind['p50']:.1f}", f"{behind['p99']:.1f}", f"{ratio(behind):.2f}", f"{behind['dropped']:.0%}"]
