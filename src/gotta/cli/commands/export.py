"""`gotta export`: the runs as one table for other programs."""

import sys
from pathlib import Path

from gotta.errors import GottaError, check_known


def export(folder: Path, format: str = "csv", out: Path | None = None) -> None:
    """Write one row per run: id, settings, numbers, environment, timings last; in the same order every time.

    Examples:

    - `gotta export runs/mini > mini.csv`

    - `gotta export runs/mini --format parquet --out mini.parquet`

    Arguments:
        folder: A folder that `gotta bench` or `gotta run` wrote.

    Options:
        format: csv, json or parquet.
        out: Write to this file instead of standard output.
    """
    from gotta.cli.options import finished
    from gotta.files import write_atomically
    from gotta.report.store.export import FORMATS, rows

    check_known("format", format, FORMATS)
    if format == "parquet" and out is None and sys.stdout.isatty():
        raise GottaError("parquet is not text. Name a file with --out, or send the output to one.")
    content = FORMATS[format](rows(finished(folder)))
    if out is not None:
        write_atomically(out, content)
    elif format == "parquet":
        sys.stdout.buffer.write(content)
    else:
        sys.stdout.write(content.decode())
