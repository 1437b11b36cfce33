"""What a prior adds: the same run with it and without, paired."""

import json
from collections import defaultdict

from gotta.report.pairs import difference
from gotta.report.panel import AXES, Panel, Runs
from gotta.report.stored_run import Run
from gotta.report.tables.cells import Table
from gotta.report.tables.gains import Gains, caption_of, table_of

PRIOR = "prior"
OWN = ("method.prior", "method.labels", "method.order_in_batch")  # the settings of a prior
WITHOUT = {"deskew": "norm"}  # what a method that comes with a prior is without it, its statistics being the same


def prior_gains(panel: Panel) -> Gains:
    """For each cell with a prior the paired difference to the runs that differ from it in the prior alone."""
    bare: dict[str, list[Run]] = defaultdict(list)
    for run in panel.runs:
        if run.prior == "none":
            bare[_apart_from_prior(run)].append(run)
    found: Gains = {}
    for column, row, runs in panel.filled:
        twins = _twins(runs, bare) if panel.priors[column] != "none" else ()
        if twins:
            found[row, column] = difference(runs, twins)
    return found


def prior_table(panel: Panel) -> Table:
    """Rows by columns with a prior; without rows where there is nothing to compare."""
    found = prior_gains(panel)
    caption = ("Each column against itself without the prior.", *caption_of(found))
    return table_of(panel, found, "Gain of the prior (points)", caption)


def _twins(runs: Runs, bare: dict[str, list[Run]]) -> Runs:
    return tuple(twin for key in dict.fromkeys(map(_apart_from_prior, runs)) for twin in bare.get(key, ()))


def _apart_from_prior(run: Run) -> str:
    """Everything that a run is besides its prior and its seed."""
    settings = {name: value for name, value in run.section(*AXES).items() if name not in OWN}
    name = run.spec.method.name
    return json.dumps([WITHOUT.get(name, name), {**settings, "method.name": ""}, run.spec.control], sort_keys=True)
