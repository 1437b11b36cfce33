"""The tables with a line for each pair of method and memory: domains, state of the memory, cost, calibration."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gotta.errors import unknown
from gotta.experiment.sweep.store import Run
from gotta.report.pairs import scores
from gotta.report.places import Place, places
from gotta.report.tables.captions import setup_lines
from gotta.report.tables.cells import Row, Table, over_seeds, rank
from gotta.report.tables.comparison import METRICS, Value, by_seed, reason, summary_value

HEADING = ("method", "memory")

MEMORY = {  # column: (path in the summary, decimals)
    "rows": ("buffer.rows", 1),
    "occupancy": ("buffer.occupancy", 2),
    "classes": ("buffer.classes", 1),
    "balance": ("buffer.balance", 3),
    "purity": ("buffer.purity", 3),
    "mean age": ("buffer.age_mean", 0),
    "near-duplicates": ("buffer.near_duplicates", 3),
    "neighbour distance": ("buffer.nn_distance", 4),
    "coverage": ("buffer.coverage", 4),
}
COST = {
    "predict s": ("cost.predict.seconds", 2),
    "observe s": ("cost.observe.seconds", 2),
    "adapt s": ("cost.adapt.seconds", 2),
    "refresh s": ("cost.refresh.seconds", 2),
    "forwards": ("cost.total.forwards", 0),
    "backwards": ("cost.total.backwards", 0),
    "peak MB": ("cost.peak_mb", 0),
    "run s": ("seconds", 1),
}
CALIBRATION = {"ECE %": ("online.ece", 2), "NLL": ("online.nll", 3), "entropy": ("online.entropy", 3)}


def domain_table(runs: Sequence[Run], metric: str = "accuracy") -> Table:
    """Methods with memories by domains, in the order of the stream; a domain visited again has a column again."""
    if metric not in ("accuracy", "error"):
        raise unknown("metric of a domain", metric, ("accuracy", "error"))
    visits = {run.id: scores(run, metric) for run in runs}
    domains = list(dict.fromkeys(name for found in visits.values() for name in found))

    def of_domain(name: str) -> Value:
        return lambda run: visits[run.id].get(name)

    columns = {name: (of_domain(name), 1) for name in domains} | {"mean": (_at(metric), 1)}
    rows = _rows(runs, columns)
    for index in range(len(columns)):
        rows = rank(rows, index, METRICS[metric].higher)
    caption = f"{METRICS[metric].title} in each domain, mean over seeds."
    return Table(
        f"{METRICS[metric].title} per domain", HEADING, tuple(columns), tuple(rows), (caption, *setup_lines(runs))
    )


def memory_table(runs: Sequence[Run]) -> Table:
    """The state of the memory at the end of the stream."""
    caption = (
        "At the end of the stream, mean over seeds. Balance: entropy of the class counts, 1 = balanced. Purity: share "
        "of rows stored under their true label. Near-duplicates: share of rows with another of their class within "
        "0.005. Neighbour distance: to the nearest row of the same class. Coverage: mean distance of the last 1,000 "
        "samples to their nearest row, lower is closer."
    )
    return _summary_table("Memory", runs, MEMORY, caption)


def cost_table(runs: Sequence[Run]) -> Table:
    """Seconds in each phase, passes through the network, peak of memory."""
    caption = (
        "Per run, mean over seeds. Forwards and backwards count passes of a batch. Peak MB is that of the process "
        "since it started, so a run may show the peak of one before it."
    )
    return _summary_table("Cost", runs, COST, caption)


def calibration_table(runs: Sequence[Run]) -> Table:
    """Expected calibration error, negative log-likelihood and entropy."""
    caption = (
        "Mean over seeds. ECE: 15 equal-width bins of the largest probability. NLL and entropy in natural logarithm."
    )
    return _summary_table("Calibration", runs, CALIBRATION, caption)


def _summary_table(title: str, runs: Sequence[Run], columns: Mapping[str, tuple[str, int]], caption: str) -> Table:
    rows = _rows(runs, {name: (_at(path), decimals) for name, (path, decimals) in columns.items()})
    filled = [row for row in rows if any(cell.value is not None for cell in row.cells)]
    return Table(title, HEADING, tuple(columns), tuple(filled), (caption,))


def _rows(runs: Sequence[Run], columns: Mapping[str, tuple[Value, int]]) -> list[Row]:
    groups: dict[tuple[str, str], list[Run]] = defaultdict(list)
    where: dict[tuple[str, str], Place] = {}
    for run, place in zip(runs, places(runs), strict=True):
        groups[place.column, place.row].append(run)
        where[place.column, place.row] = place
    order = sorted(groups, key=lambda pair: (where[pair].column_order, where[pair].row_order, pair))
    why = {pair: reason(group) for pair, group in groups.items()}
    return [
        Row(
            pair,
            tuple(
                replace(over_seeds(by_seed(groups[pair], value), decimals, interval=False), no_effect=why[pair])
                for value, decimals in columns.values()
            ),
            where[pair].ranked,
        )
        for pair in order
    ]


def _at(path: str) -> Value:
    return lambda run: summary_value(run.summary, path)
