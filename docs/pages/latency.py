"""The table of docs/latency.md, from what `benchmarks/serve.py` has measured (benchmarks/serve.json)."""

import json
from pathlib import Path
from typing import Any

from pages.parts import fill, grid

KEPT = "benchmarks/serve.json"
TRAINING = ("tent", "rotta", "note", "sar")  # whose processor time is shown
ANOTHER = 1.6  # times as slow: another machine
LIMIT = 1.3  # times the bare network's p99, of batches of 16 behind
COLUMNS = (
    *("bare p50", "bare p99", "at once p50", "at once p99", "alone p50", "alone p99", "behind p50", "behind p99"),
    *("behind / bare", "95 % interval", "dropped"),
)


def make(root: Path) -> dict[Path, str]:
    said = json.loads((root / KEPT).read_text(encoding="utf-8"))
    return fill(root / "docs/latency.md", {"latency": tell(said), "processor time": tell_processor_time(said)})


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
    most = max((row["requests"] for row in said["rows"] if "low" in row), default=0)
    if most:
        parts[0] += (
            f" Bare network and method take turns, {said['rounds']} times or more for batches of 16; a ratio is that "
            f"of all requests, up to {most:,} on each side. Its interval comes from drawing rounds anew."
        )
        if any("low" not in row for row in said["rows"]):
            parts[0] += " Rows without an interval are of an earlier run: ten seconds each, without turns."
    speeds = [row["bare_p50"] for row in said["rows"] if row["batch"] == max(one["batch"] for one in said["rows"])]
    if max(speeds) > ANOTHER * min(speeds):
        parts[0] += " The rows are of two machines, and the bare network's times say of which: compare ratios."
    for size in sorted({row["batch"] for row in said["rows"]}):
        rows = [row for row in said["rows"] if row["batch"] == size]
        both = {
            name: [row for row in rows if row["method"] == name] for name in dict.fromkeys(r["method"] for r in rows)
        }
        held = f" {judge({n: there for n, found in both.items() if (there := of(found, True))})}" if size == 16 else ""
        parts += [f"**Batches of {size}.**{held}", grid("method", COLUMNS, {n: line(f) for n, f in both.items()})]
    return "\n\n".join(parts)


def of(found: list[dict[str, Any]], background: bool) -> dict[str, Any] | None:
    return next((row for row in found if row["background"] is background), None)


def judge(behind: dict[str, dict[str, Any]]) -> str:
    """Which methods keep to the limit, as far as the intervals say, and which cannot by their prediction itself."""
    above = [name for name, row in behind.items() if interval(row)[0] > LIMIT]
    open_ = [name for name, row in behind.items() if interval(row)[0] <= LIMIT < interval(row)[1]]
    own = [name for name in above if predicts_slowly(behind[name])]
    within, low = len(behind) - len(above) - len(open_), sum(ratio(row) <= LIMIT for row in behind.values())
    told = [f"{low} of {len(behind)} methods have a p99 of at most {LIMIT} times the bare network's, {within} of them"]
    told[0] += " with their whole interval."
    told += [f"The interval has {LIMIT} inside: {', '.join(open_)}."] if open_ else []
    told += [f"Above: {', '.join(above)}."] if above else []
    told += [f"Of these, the prediction itself takes more than that: {', '.join(own)}."] if own else []
    return " ".join(told)


def ratio(row: dict[str, Any]) -> float:
    return float(row["p99"] / row["bare_p99"])


def interval(row: dict[str, Any]) -> tuple[float, float]:
    """Of the ratio; of a run without one the ratio itself."""
    return row.get("low", ratio(row)), row.get("high", ratio(row))


def predicts_slowly(row: dict[str, Any]) -> bool:
    """Whether the calling thread alone needs more than the limit on the processor: nothing can be put behind then."""
    return float(row["cpu_p50"] / row["bare_cpu_p50"]) > LIMIT


def line(found: list[dict[str, Any]]) -> list[str]:
    """Of a method that has nothing to put behind only what it takes at once."""
    at_once, behind = found[0], of(found, True)
    bare = behind or at_once
    cells = [f"{time:.1f}" for time in (bare["bare_p50"], bare["bare_p99"], at_once["p50"], at_once["p99"])]
    if behind is None:
        return [*cells, *["-"] * 7]
    alone = [f"{behind[name]:.1f}" if name in behind else "-" for name in ("alone_p50", "alone_p99")]
    low, high = interval(behind)
    spread = f"{low:.2f} to {high:.2f}" if low < high else "-"
    taken = [f"{behind['p50']:.1f}", f"{behind['p99']:.1f}", f"{ratio(behind):.2f}", spread, f"{behind['dropped']:.0%}"]
    return [*cells, *alone, *taken]
