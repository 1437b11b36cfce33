"""What a service measures, by Ray's own metrics, which Prometheus reads. No tag is a stream's name: those are many."""

from collections.abc import Mapping
from typing import Any

BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]  # seconds
MOST_CLASSES = 100  # of more classes only the first ones have a line of their own


# By name: what it is in ray.util.metrics, what it says, and its tags.
METERS: dict[str, tuple[str, ...]] = {
    "gotta_requests": ("Counter", "Requests answered, by call and status.", "call", "status"),
    "gotta_latency_seconds": ("Histogram", "Seconds from a request's arrival to its answer.", "call"),
    "gotta_samples": ("Counter", "Samples predicted, by the class that was answered.", "label"),
    "gotta_agreement": ("Gauge", "Share of samples on which the adapted model and its source agree."),
    "gotta_stickiness": ("Gauge", "How often a class is thought to stay: mean of the streams held."),
    "gotta_jumps": ("Counter", "Changes of domain that were found."),
    "gotta_undone_steps": ("Counter", "Steps that were taken back because they would have ruined the model."),
    "gotta_guard_active": ("Gauge", "Streams for which the guard lets the source predict."),
    "gotta_memory_occupancy": ("Gauge", "Rows in memories over their capacity."),
    "gotta_drops": ("Counter", "Work that was not done, by reason.", "reason"),
    "gotta_streams": ("Gauge", "Streams held."),
    "gotta_unsaved_seconds": ("Gauge", "Age of the oldest change that is not saved: what a kill would lose."),
    "gotta_live": ("Gauge", "1 if the adapted model answers, 0 in shadow."),
}


class Meters:
    """One of each kind for a process. `maker` is `ray.util.metrics`, or anything with its three classes."""

    def __init__(self, maker: Any) -> None:
        self.by_name = {}
        for name, (kind, description, *tags) in METERS.items():
            more = {"boundaries": BUCKETS} if kind == "Histogram" else {}
            self.by_name[name] = getattr(maker, kind)(name, description=description, tag_keys=tuple(tags), **more)

    def add(self, name: str, amount: float = 1.0, **tags: str) -> None:
        if amount > 0:  # Ray refuses to count nothing
            self.by_name[name].inc(amount, tags=tags)

    def note_request(self, call: str, status: int, seconds: float) -> None:
        self.add("gotta_requests", call=call, status=str(status))
        self.by_name["gotta_latency_seconds"].observe(seconds, tags={"call": call})

    def note_labels(self, counts: Mapping[int, int]) -> None:
        """How many samples got which label."""
        for label, count in counts.items():
            self.add("gotta_samples", count, label=str(label) if label < MOST_CLASSES else "other")
