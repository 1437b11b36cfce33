"""Kept runs of format 2 as lines of format 3: the same scores under the names that runs have now.

    python .ci/restamp.py results/*.jsonl

Rewrites each file; lines of format 3 stay as they are. What a line says of the run changes in `CHANGED` alone, and the
script stops at a line whose summary would change elsewhere. Kept until the last runs of commits before format 3 are in.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from gotta.experiment.spec.arguments import usual_arguments
from gotta.experiment.spec.identity import FORMAT, SPEC, describe_part, find_changed, name_parts, run_id, version_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import ModelSpec

Line = dict[str, Any]
CHANGED = ("adaptations",)  # of a summary: runs that never adapt counted their steps
FORMER = {"oracle": "true_kcenter"}  # controls by the names that they had


def restamp(line: Line) -> Line:
    """One line in format 3."""
    if line["identity"]["format"] == FORMAT:
        return line
    check(line)
    parts = line["identity"]["parts"]
    outside = [line["spec"][kind]["name"].partition(":")[0] for kind in parts if "files" in parts[kind]]
    given = convert(line["spec"], parts)
    spec = RunSpec.of({**given, "model": {}}, imports=outside)  # the package of the network need not be here
    spec = spec.model_copy(update={"model": ModelSpec(**given["model"])})
    files = {kind: part for kind, part in parts.items() if "files" in part}
    described = {
        kind: files[kind] if kind in files else describe_part(kind, name) for kind, name in name_parts(spec).items()
    }
    identity = {
        "format": FORMAT,
        "spec": version_of(SPEC, str(FORMAT)),
        "settings": find_changed(spec),
        "parts": described,
    }
    made = {**line, "id": run_id(identity), "spec": spec.model_dump(), "summary": count_adaptations(line["summary"])}
    made["identity"] = json.loads(json.dumps(identity))
    made.pop("sha256")
    compare(line["summary"], made["summary"])
    return {**made, "sha256": digest(made)}


def convert(spec: Line, parts: Line) -> Line:
    """The sections of format 2 with arguments beside the settings, and the defaults of then that are others now."""
    new = {name: value for name, value in spec.items() if value is not None}
    for section in ("data", "memory", "method"):
        own = {name: value for name, value in spec[section].items() if name != "arguments"}
        given = spec[section].get("arguments", {})
        usual = usual_arguments(section, own["name"], given)
        then = parts.get(section, {}).get("settings", {})
        kept = {name: then[name] for name, now in usual.items() if name in then and then[name] != plain(now)}
        new[section] = {**own, **kept, **given}
    if spec.get("control") in FORMER:
        new["control"] = FORMER[spec["control"]]
        new["memory"]["name"] = FORMER.get(new["memory"]["name"], new["memory"]["name"])
    return new


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def count_adaptations(summary: Line) -> Line:
    """A run in which nothing was adapted says so."""
    spent = summary["cost"]["adapt"]
    never = spent["forwards"] == spent["backwards"] == 0
    return {**summary, "adaptations": 0} if never else summary


def compare(before: Line, after: Line) -> None:
    changed = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    if odd := [name for name in changed if name not in CHANGED]:
        raise SystemExit(f"{', '.join(odd)} would change")


def check(line: Line) -> None:
    """The line is what was written then."""
    if line["sha256"] != digest({name: value for name, value in line.items() if name != "sha256"}):
        raise SystemExit(f"run {line['id']} was changed after it was written")


def digest(content: Line) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def restamp_file(path: Path) -> int:
    """How many lines the file has now: two that say the same with and without a default become one."""
    lines = [restamp(json.loads(line)) for line in path.read_text().splitlines() if line.strip()]
    found: dict[str, Line] = {}
    for line in lines:
        other = found.setdefault(line["id"], line)
        if other["summary"]["online"] != line["summary"]["online"]:
            raise SystemExit(f"{path}: two runs are {line['id']}, with different scores")
    texts = [json.dumps(found[id], separators=(",", ":"), allow_nan=False) for id in sorted(found)]
    path.write_text("".join(f"{text}\n" for text in texts))
    return len(texts)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        print(f"{name}: {restamp_file(Path(name))} runs")
