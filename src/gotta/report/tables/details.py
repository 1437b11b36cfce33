"""The tables with a line for each pair of method and memory: domains, state of the memory, cost, calibration."""

from collections.abc import Callable, Mapping
from statistics import mean

from gotta.groups import group
from gotta.metrics.measures import MEASURES
from gotta.report.cells import Line, Table, Value, measure, number, rank
from gotta.report.panel import Panel
from gotta.report.stored_run import Run
from gotta.report.tables.captions import setup_lines
from gotta.types import read_pair

HEADING = ("method", "memory")

SUMMARIES = {  # the columns, with their path in the summary and decimals, and what stands below them
    "Cost": (
        {
            "predict s": ("cost.predict.seconds", 2),
            "observe s": ("cost.observe.seconds", 2),
            "adapt s": ("cost.adapt.seconds", 2),
            "refresh s": ("cost.refresh.seconds", 2),
            "forwards": ("cost.total.forwards", 0),
            "backwards": ("cost.total.backwards", 0),
            "peak MB": ("cost.peak_mb", 0),
            "run s": ("seconds", 1),
            "cpu s": ("cpu_seconds", 1),
        },
        "Per run, mean over seeds. Forwards and backwards count passes of a batch. Peak MB is that of the process "
        "since it started, so a run may show the peak of one before it. Run s is wall time, cpu s "
        "the processor time of all threads.",
    ),
    "Calibration": (
        {"ECE %": ("online.ece", 2), "NLL": ("online.nll", 3), "entropy": ("online.entropy", 3)},
        "Mean over seeds. ECE: 15 equal-width bins of the largest probability. NLL and entropy in natural logarithm.",
    ),
    "Exposure": (
        {
            "adapted to": ("exposure.samples", 0),
            "accuracy there": ("exposure.accuracy", 1),
            "held out": ("exposure.held_out_samples", 0),
            "accuracy held out": ("exposure.held_out_accuracy", 1),
        },
        "Samples that were adapted to and samples that were only predicted, mean over seeds; accuracy in percent.",
    ),
    "Open set": (
        {
            "AUC": ("open_set.auc_probability", 1),
            "AUC by energy": ("open_set.auc_energy", 1),
            "AUC by entropy": ("open_set.auc_entropy", 1),
            "accuracy": ("accuracy", 1),
            "H-score": ("open_set.h_score", 1),
            "foreign in memory": ("open_set.rows_share", 3),
        },
        "Mean over seeds, in percent. AUC: how often a known sample is surer than a foreign one of its domain, by the "
        "largest probability, the free energy or the entropy; 50 is chance. Accuracy is that of the known samples. "
        "H-score: harmonic mean of accuracy and AUC in each domain. Foreign in memory: share of its rows at the end.",
    ),
}


def domain_table(panel: Panel) -> Table:
    """Methods with memories by domains, in the order of the stream.

    A domain visited again has a column again, unless all are visited again and again: then it is the mean over visits.
    """
    domains = list(dict.fromkeys(name for run in panel.runs for name in _scores(run)))

    def of_domain(name: str) -> Value:
        return lambda run: _scores(run).get(name)

    columns = {name: (of_domain(name), 1) for name in domains} | {"mean": (number("accuracy"), 1)}
    if any(run.stream.class_imbalance > 1 for run in panel.runs):
        columns |= {"mean over classes": (number("online.class_accuracy"), 1)}
    rows = line_for_each(panel, columns, marked=True)
    caption = ("Accuracy (%) in each domain, mean over seeds.", *setup_lines(panel))
    return Table("Accuracy (%) per domain", HEADING, tuple(columns), tuple(rows), caption)


def _column_of(run: Run, visit: str) -> str:
    """A visit has its own column; not so rounds that recur, and the many points on the way between two corruptions."""
    name = run.domains[visit].name
    if pair := read_pair(name):
        return f"{pair[0][0]} to {pair[1][0]}"
    return visit if run.stream.repeats == 1 else name


def memory_table(panel: Panel) -> Table:
    """The state of the memory at the end of the stream."""
    shown = {f"buffer.{name}": measure for name, measure in MEASURES.items() if measure.heading}
    meanings = [measure.meaning for measure in shown.values() if measure.meaning]
    columns = {measure.heading: (path, measure.decimals) for path, measure in shown.items()}
    return _summary_table("Memory", panel, columns, " ".join(["At the end of the stream, mean over seeds.", *meanings]))


def summary_tables(panel: Panel) -> list[Table]:
    """Cost, calibration, and where there is something to say of them exposure and foreign images."""
    made = [_summary_table(title, panel, *told) for title, told in SUMMARIES.items()]
    foreign = any("open_set.h_score" in run.numbers for run in panel.runs)
    return [table for table in made if table.title != "Open set" or foreign]


def _scores(run: Run) -> dict[str, float]:
    visits = group(run.scores().items(), lambda visit: _column_of(run, visit[0]))
    return {name: sum(score for _, score in met) / len(met) for name, met in visits.items()}


def _summary_table(title: str, panel: Panel, columns: Mapping[str, tuple[str, int]], caption: str) -> Table:
    rows = line_for_each(panel, {name: (number(path), decimals) for name, (path, decimals) in columns.items()})
    filled = [row for row in rows if any(cell.value is not None for cell in row.cells)]
    return Table(title, HEADING, tuple(columns), tuple(filled), (caption,))


def line_for_each(panel: Panel, columns: Mapping[str, tuple[Value, int]], marked: bool = False) -> list[Line]:
    """Of each method with its memory these values, by the name of the column; with how many decimals."""
    entries, ranked = panel.entries, [entry.is_ranked for entry in panel.entries]
    cells = [[measure(entry.runs, *asked, interval=False) for entry in entries] for asked in columns.values()]
    cells = [rank(column, ranked, higher=True) for column in cells] if marked else cells
    names = [(entry.column.label, entry.row.label) for entry in entries]
    return list(map(Line, names, zip(*cells, strict=True), ranked))


def visits_table(panel: Panel) -> Table:
    """Methods with memories by visits; without rows where nothing recurs."""
    visits = range(len(max(map(errors_by_visit, panel.runs), key=len)))
    columns = {f"visit {k + 1}": (at_visit(k), 1) for k in visits}
    if columns:
        columns |= {
            "mean": (_over_visits(mean), 1),
            "last - first": (_over_visits(lambda errors: errors[-1] - errors[0]), 1),
        }
    caption = "Error in percent at each visit to all domains, mean over domains and seeds; a rise is wear."
    rows = line_for_each(panel, columns) if columns else []
    return Table("Error (%) per visit", HEADING, tuple(columns), tuple(rows), (caption, *setup_lines(panel)))


def errors_by_visit(run: Run) -> list[float]:
    """The mean error over all domains in the first visit to them, the second, ...; none if each is visited once."""
    times, met = run.stream.repeats, run.summary.online.domains
    if times < 2 or not met or len(met) % times:
        return []
    size = len(met) // times
    rounds = [[domain.error for domain in met[k : k + size]] for k in range(0, len(met), size)]
    known = [[error for error in errors if error is not None] for errors in rounds]
    if not all(known):
        return []
    return [sum(errors) / len(errors) for errors in known]


def at_visit(number: int) -> Value:
    return lambda run: next(iter(errors_by_visit(run)[number:]), None)


def _over_visits(value: Callable[[list[float]], float]) -> Value:
    return lambda run: value(errors) if (errors := errors_by_visit(run)) else None
