"""CSTU, FPS and CDS as the paper's text states them, one list of dictionaries, every quantity computed from scratch."""

import math
from collections import Counter
from typing import Any

Row = dict[str, Any]


class Slow:
    """A memory of rows {id, label, u, z, age}; `offer` returns whether the sample was stored and the id that left.

    `reading` chooses what the paper's text may mean: `against` and `order` for FPS, `ties` and `one_row` for CDS.
    """

    def __init__(self, rule: str, capacity: int, num_classes: int, epsilon: float = 0.005, **reading: str) -> None:
        self.rule, self.capacity, self.num_classes, self.epsilon = rule, capacity, num_classes, epsilon
        self.reading = {"against": "all", "order": "check_first", "ties": "score", "one_row": "cstu", **reading}
        self.rows: list[Row] = []

    def h(self, row: Row) -> float:
        """The shared eviction score."""
        time = 1.0 / (1.0 + math.exp(-row["age"] / self.capacity))
        return time + row["u"] / math.log(self.num_classes)

    def partition(self, label: int) -> list[Row]:
        return [row for row in self.rows if row["label"] == label]

    def offer(self, sample: int, label: int, u: float, z: list[float]) -> tuple[bool, int | None]:
        new = {"id": sample, "label": label, "u": u, "z": z, "age": 0}
        stored, leaving = getattr(self, self.rule)(new)
        self.rows = [row for row in self.rows if row is not leaving]
        if stored:
            self.rows.append(new)
        for row in self.rows:
            row["age"] += 1
        return stored, None if leaving is None else leaving["id"]

    def has_room(self, label: int) -> bool:
        return len(self.partition(label)) < self.capacity / self.num_classes

    def is_full(self) -> bool:
        return len(self.rows) == self.capacity

    def majority(self) -> list[Row]:
        """The rows of the largest classes, classes ascending, in insertion order."""
        sizes = Counter(row["label"] for row in self.rows)
        largest = [label for label in sorted(sizes) if sizes[label] == max(sizes.values())]
        return [row for label in largest for row in self.partition(label)]

    def last_worst(self, rows: list[Row]) -> Row:
        worst = rows[0]
        for row in rows[1:]:
            if self.h(row) >= self.h(worst):
                worst = row
        return worst

    def cstu(self, new: Row) -> tuple[bool, Row | None]:
        if self.has_room(new["label"]):
            if not self.is_full():
                return True, None
            worst = self.last_worst(self.majority())
        else:
            worst = self.last_worst(self.partition(new["label"]))
        return (True, worst) if self.h(worst) > self.h(new) else (False, None)

    def fps(self, new: Row) -> tuple[bool, Row | None]:
        partition = self.partition(new["label"])
        d = {row["id"]: math.dist(row["z"], new["z"]) for row in partition}
        leaving = None
        asked = list(partition)
        if not self.has_room(new["label"]):
            leaving = min(partition, key=lambda row: d[row["id"]])
            if not self.h(leaving) >= self.h(new):
                return False, None
            if self.reading["against"] == "remaining":
                asked.remove(leaving)
            if not all(d[row["id"]] > self.epsilon for row in asked):
                return False, leaving if self.reading["order"] == "evict_first" else None
            return True, leaving
        if self.is_full():
            leaving = self.last_worst(self.majority())
            if not self.h(leaving) > self.h(new):
                return False, None
        diverse = all(d[row["id"]] > self.epsilon for row in asked)
        return (True, leaving) if diverse else (False, None)

    def cds(self, new: Row) -> tuple[bool, Row | None]:
        partition = self.partition(new["label"])
        if self.has_room(new["label"]) or (len(partition) == 1 and self.reading["one_row"] == "cstu"):
            return self.cstu(new)
        if max(similarity(row, new) for row in partition) >= 1 - self.epsilon:
            return False, None
        everyone = [*partition, new]
        redundancy = [max(similarity(a, b) for b in everyone if b is not a) for a in everyone]
        tied = [row for row, r in zip(everyone, redundancy, strict=True) if r >= max(redundancy) - 1e-12]
        # They stand in insertion order, the newcomer last, and max keeps the first of equal ones.
        leaving = {"score": max(tied, key=self.h), "earlier": tied[0], "later": tied[-1]}[self.reading["ties"]]
        return (False, None) if leaving is new else (True, leaving)


def similarity(a: Row, b: Row) -> float:
    length = math.hypot(*a["z"]) * math.hypot(*b["z"])
    return math.fsum(x * y for x, y in zip(a["z"], b["z"], strict=True)) / length
