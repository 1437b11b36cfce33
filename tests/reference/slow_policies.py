"""MCM and herding, written again from their descriptions: lists of dictionaries, nothing kept up."""

import math
from collections import Counter
from itertools import pairwise
from typing import Any

from reference.slow_memory import Row


class SlowHerding:
    """Rows of a class are those whose mean is nearest to the mean of all that came of the class."""

    def __init__(self, capacity: int, num_classes: int) -> None:
        self.capacity, self.num_classes = capacity, num_classes
        self.rows: list[Row] = []
        self.offered: dict[int, list[list[float]]] = {}

    def offer(self, sample: int, label: int, z: list[float]) -> None:
        self.offered.setdefault(label, []).append(z)
        new = {"id": sample, "label": label, "z": z}
        sizes = Counter(row["label"] for row in self.rows)
        if sizes[label] >= self.capacity / self.num_classes:
            competing = [*(row for row in self.rows if row["label"] == label), new]
        elif len(self.rows) < self.capacity:
            competing = []
        else:
            most = max(sizes.values())
            competing = [row for row in self.rows if sizes[row["label"]] == most]
        self.rows.append(new)
        if competing:
            leaving = min(competing, key=lambda row: (self.off_without(row, competing), row["id"]))
            self.rows = [row for row in self.rows if row is not leaving]

    def off_without(self, row: Row, competing: list[Row]) -> float:
        others = [other["z"] for other in competing if other["label"] == row["label"] and other is not row]
        if not others:
            return 0.0
        return round(math.dist(average(others), average(self.offered[row["label"]])) ** 2, 12)


class SlowMCM:
    """Clusters in order of founding, each a list of rows {id, label, u, d, born}."""

    def __init__(self, capacity: int, num_classes: int, clusters: int, radius: float) -> None:
        self.capacity, self.num_classes, self.most, self.radius = capacity, num_classes, clusters, radius
        self.clusters: list[list[Row]] = []
        self.clock = 0

    def h(self, row: Row) -> float:
        age = self.clock - row["born"]
        return 1 / (1 + math.exp(-age / self.capacity)) + row["u"] / math.log(self.num_classes)

    def offer(self, sample: int, label: int, u: float, d: list[float]) -> None:
        new = {"id": sample, "label": label, "u": u, "d": d, "born": self.clock}
        before = [list(cluster) for cluster in self.clusters]
        own = self.assign(new)
        if sum(map(len, before)) == self.capacity and not self.make_room(own, new):
            self.clusters = before
        else:
            own.append(new)
        self.clusters = [cluster for cluster in self.clusters if cluster]
        self.clock += 1

    def assign(self, new: Row) -> list[Row]:
        """The cluster that the newcomer belongs to, and is not yet in; of too many clusters two are merged."""
        away = [math.dist(centre(cluster), new["d"]) for cluster in self.clusters]
        if away and min(away) <= self.radius:
            return self.clusters[away.index(min(away))]
        own: list[Row] = []
        self.clusters.append(own)
        if len(self.clusters) <= self.most:
            return own
        centres = [centre(cluster) if cluster else new["d"] for cluster in self.clusters]
        apart = [math.dist(a, b) for a, b in pairwise(centres)]
        at = apart.index(min(apart))
        merged = self.clusters[at] + self.clusters[at + 1]
        self.clusters[at : at + 2] = [merged]
        return merged if at == len(apart) - 1 else own

    def make_room(self, own: list[Row], new: Row) -> bool:
        size = max(map(len, self.clusters))
        if len(own) < size:
            rivals = [row for cluster in self.clusters if len(cluster) == size for row in frequent(cluster)]
        else:
            rivals = frequent(own, new["label"])
        worst = max(rivals, key=lambda row: (self.h(row), -row["born"]))
        if len(own) == size and self.h(worst) <= self.h(new):
            return False
        for cluster in self.clusters:
            cluster[:] = [row for row in cluster if row is not worst]
        return True


def frequent(cluster: list[Row], label: int | None = None) -> list[Row]:
    sizes = Counter(row["label"] for row in cluster)
    largest = [name for name, size in sizes.items() if size == max(sizes.values())]
    return [row for row in cluster if row["label"] in ([label] if label in largest else largest)]


def centre(cluster: list[Row]) -> list[float]:
    return average([row["d"] for row in cluster])


def average(points: list[list[float]]) -> list[Any]:
    return [math.fsum(values) / len(points) for values in zip(*points, strict=True)]
