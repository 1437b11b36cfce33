"""What runs were made from besides their spec: by it they are kept apart, never averaged, and told at the table."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gotta.report.stored_run import Run

SHOWN = 8  # digits of a hash
IN_STREAM = {"order": "stream", "schedule": "stream"}  # other parts are called as their section of a spec
CODE = "code"
VERSION = "version"


def list_origins(run: "Run") -> dict[str, Any]:
    """By dotted names in the sections they belong to, so that they tell runs apart as settings do.

    The hashes of data and weights, the versions of gotta's parts, and the code of the user's own.
    """
    found: dict[str, Any] = {}
    hashes = {"data.data_hash": run.summary.data_sha256, "model.weights_hash": run.summary.weights_sha256}
    found |= {name: value[:SHOWN] for name, value in hashes.items() if value}
    for name, part in run.identity.parts.items():
        section = IN_STREAM.get(name, name)
        prefix = f"{section}." if section == name else f"{section}.{name}_"
        found[prefix + (CODE if part.files else VERSION)] = _short(part.files) if part.files else part.version
    return found


def origin_lines(runs: Iterable["Run"]) -> list[str]:
    """What a reader of a table must know of where its numbers are from; nothing if they are all alike."""
    listed = list(runs)
    lines = []
    versions = sorted({run.version for run in listed if run.version})
    if len(versions) > 1:
        lines.append(f"Made with several versions of gotta: {', '.join(versions)}.")
    for section in ("memory", "method"):
        codes: dict[str, set[str]] = {}
        for run in listed:
            if code := run.made_of.get(f"{section}.{CODE}"):
                codes.setdefault(str(run.settings[f"{section}.name"]), set()).add(code)
        lines += [
            f"Kept apart: {section} {name} was run with different code ({', '.join(sorted(found))})."
            for name, found in sorted(codes.items())
            if len(found) > 1
        ]
    bare = sum(run.stored.finished is not None and not run.stored.has_steps for run in listed)
    if bare:
        which = "These runs are" if bare == len(listed) else f"{bare} of the {len(listed)} runs are"
        lines.append(f"{which} kept without records of their steps, so curves over the stream are left out.")
    notes = dict.fromkeys(note for run in listed for note in run.summary.notes)
    return [*lines, *(f"Note: {note}" for note in notes)]


def _short(files: Mapping[str, str]) -> str:
    """Of one file its own hash, which `sha256sum` gives as well."""
    if len(files) == 1:
        return next(iter(files.values()))[:SHOWN]
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()[:SHOWN]
