"""Runs as a flat table: one row per run, one column per setting and number."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any

from gotta.errors import GottaError
from gotta.experiment.spec.dotted import flatten
from gotta.report.rows import sortable
from gotta.report.stored_run import Run
from gotta.safe_text import csv_value

Rows = list[dict[str, Any]]
SECTIONS = ("spec", "summary", "environment")
# what another machine, or another day, answers otherwise
TIMINGS = ("seconds", "cpu_seconds", "peak_mb", "peak_cuda_mb")


def rows(runs: Sequence[Run]) -> Rows:
    """A row for each run, sorted by its settings and then its id; all rows have all columns, timings the last ones."""
    found = [_row(run) for run in runs]
    names = sorted(dict.fromkeys(name for row in found for name in row), key=_column_order)
    complete = [{name: row.get(name) for name in names} for row in found]
    settings = [name for name in names if name.startswith("spec.")]

    def order(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return [(row[name] is not None, *sortable(row[name])) for name in settings], row["id"]

    return sorted(complete, key=order)


def as_csv(table: Rows) -> bytes:
    """With a line of names; a missing value is empty."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(map(csv_value, line) for line in (*table[:1], *(row.values() for row in table)))
    return text.getvalue().encode()


def as_json(table: Rows) -> bytes:
    """A list of objects, a line for each run."""
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in table)
    return f"[\n{lines}\n]\n".encode()


def as_parquet(table: Rows) -> bytes:
    """For data frames. Columns whose values are of several kinds are text."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise GottaError("parquet needs pyarrow: pip install 'gotta-tta[parquet]'. Or use csv or json.") from None
    columns = {name: _alike([row[name] for row in table]) for row in table[:1] for name in row}
    buffer = BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), buffer)
    return buffer.getvalue()


FORMATS: dict[str, Callable[[Rows], bytes]] = {"csv": as_csv, "json": as_json, "parquet": as_parquet}


def _row(run: Run) -> dict[str, Any]:
    row: dict[str, Any] = {"id": run.id}
    for section, content in zip(SECTIONS, (run.spec.model_dump(), run.stored.summary, run.environment), strict=True):
        row |= {name: _scalar(value) for name, value in flatten(content, f"{section}.").items()}
    row.pop("summary.online.domains", None)
    return row | {f"summary.online.domains.{name}.accuracy": value for name, value in run.scores().items()}


def _scalar(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, list | Mapping) else value


def _column_order(name: str) -> tuple[int, int, str]:
    timing = name.split(".")[-1] in TIMINGS
    section = ("id", *SECTIONS).index(name.partition(".")[0])
    return (1 if timing else 0, section, "" if name == "summary.accuracy" else name)


def _alike(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) <= 1 else [None if value is None else str(value) for value in values]
