"""Tables that benchmarks have measured: the guard, the filter, how corruptions agree with the published ones."""

import importlib.util
import json
from collections.abc import Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Any

from gotta.safe_text import tell_bytes
from pages.parts import fill, grid

Lines = list[dict[str, Any]]
SUM = "the 15 standard"
KEYS = ("mean", "std", "change", "power")


def make(root: Path) -> dict[Path, str]:
    return {**make_guard(root), **make_filter(root), **make_corruptions(root)}


def make_guard(root: Path) -> dict[Path, str]:
    guard = load(root, "guard")
    told = [
        guard.tell(title, cases, "freeze", root / "benchmarks/guard.jsonl") for title, cases in guard.TABLES.items()
    ]
    return fill(root / "docs/results/guard.md", {"tables of streams": "\n\n".join(told)})


def make_filter(root: Path) -> dict[Path, str]:
    contents = {"activities": tell_activities(lines(root, "activities")), "costs": tell_costs(lines(root, "filter"))}
    return fill(root / "docs/filter.md", contents)


def make_corruptions(root: Path) -> dict[Path, str]:
    found = lines(root, "agreement")
    contents = {
        "statistics": tell_statistics(found),
        "speed": tell_speed((root / "benchmarks/corruptions.txt").read_text(encoding="utf-8")),
        "errors": tell_errors(found, load(root, "agreement").PUBLISHED),
    }
    return fill(root / "docs/corruptions.md", contents)


def tell_activities(draws: Lines) -> str:
    """Accuracy in percent, of all windows and of transitions."""
    columns = ("network", "with the filter", "best of eight moving averages", "recordings better, worse, alike")
    rows = {}
    for k, one in enumerate(draws, 1):
        counts = (one["better"], one["worse"], one["streams"] - one["better"] - one["worse"])
        scores = (one["network"], one["filter"], one["best"][1])
        rows[f"draw {k}"] = [*tell_scores(scores), ", ".join(map(str, counts))]
    for k, one in enumerate(draws, 1):
        parts = one["of_transitions"]
        scores = (parts["network"], parts["filter"], parts[one["best"][0]])
        rows[f"transitions only, draw {k}"] = [*tell_scores(scores), ""]
    return grid("", columns, rows)


def tell_scores(scores: Sequence[float]) -> list[str]:
    return [f"**{100 * score:.1f}**" if score == max(scores) else f"{100 * score:.1f}" for score in scores]


def tell_costs(found: Lines) -> str:
    """Microseconds of processor time per sample, by what a call holds."""
    columns = ("30 tracks in a call", "64 samples of one key", "one sample in a call", "state per key")
    cases = ("30 tracks", "64 of one", "one sample")
    rows = {
        f"{one['classes']:,}": [*(f"{one[case]:.0f} µs" for case in cases), tell_bytes(one["bytes"])] for one in found
    }
    return grid("classes", columns, rows)


def tell_statistics(found: Lines) -> str:
    """The largest distance from the recorded statistics, of frost apart."""
    apart = [line for line in found if "severity" in line]
    most = {
        frost: [round_up(max(line[key] for line in apart if (line["corruption"] == "frost") is frost)) for key in KEYS]
        for frost in (False, True)
    }
    mean, std, change, power = most[False]
    frost = ", ".join(f"{value:.1f}{' %' if k > 1 else ''}" for k, value in enumerate(most[True]))
    return (
        f"- With randomness (200 images, severities 1 to 5, seed 0): channel means within {mean:.1f} grey levels and "
        f"standard deviations within {std:.1f}; mean absolute difference within {change:.1f} %; power in each of four "
        f"frequency bands within {power:.1f} %. Frost: {frost}."
    )


def round_up(value: float) -> float:
    """To one place, so that what is said to lie within it does."""
    return ceil(10 * value - 1e-9) / 10


def tell_errors(found: Lines, published: dict[str, float]) -> str:
    """Error in percent, ours beside the published, and their means."""
    ours = {line["corruption"]: line["error"] for line in found if "error" in line}
    pairs = {name: (ours[name], error) for name, error in published.items()}
    pairs["mean"] = (sum(a for a, _ in pairs.values()) / len(published), sum(published.values()) / len(published))
    rows = {name: [f"{a:.1f}", f"{b:.1f}", f"{round(a, 1) - b:+.1f}"] for name, (a, b) in pairs.items()}
    head = (
        f"Error in percent of a plain ResNet-20 ({ours['clean']:.2f} on clean images) on the 10,000 test images of "
        "CIFAR-10, severity 5, `cifar` table, seed 0:"
    )
    return f"{head}\n\n{grid('corruption', ('ours', 'published', 'difference'), rows)}"


def tell_speed(text: str) -> str:
    """Microseconds per image, of small images beside the published ones; of large ones the range and the sum."""
    small, large = (read_times(part) for part in text.split("\n\n"))
    table = grid(
        "corruption", ("ours", "published", "times"), {name: [*cells, "", ""][:3] for name, cells in small.items()}
    )
    times = {name: float(cells[0]) / 1000 for name, cells in large.items()}
    every = times.pop(SUM)
    slowest = max(times, key=times.__getitem__)
    rest = [time for name, time in times.items() if name != slowest]
    return (
        f"{table}\n\nAt 224 x 224 with the `imagenet` table, severity 5, a corruption takes {min(rest):.1f} to "
        f"{max(rest):.1f} ms per image ({slowest} {times[slowest]:.0f} ms), {every:.0f} ms for all 15."
    )


def read_times(part: str) -> dict[str, list[str]]:
    """The cells of each row that benchmarks/corruptions.py printed."""
    body = part.split("times\n")[1].strip().splitlines()
    rows = {line[:20].strip(): line[20:].split() for line in body}
    return {name: [f"{float(cells[0]):.0f}", *cells[1:]] for name, cells in rows.items()}


def lines(root: Path, name: str) -> Lines:
    text = (root / f"benchmarks/{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@cache
def load(root: Path, name: str) -> Any:
    """A benchmark, as a module."""
    spec = importlib.util.spec_from_file_location(f"measured_{name}", root / f"benchmarks/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
