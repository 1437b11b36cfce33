"""What results/README.md says of runs that are missing, and of those that were made with an earlier rule."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.kept import Kept
from gotta.report.results import read_results
from gotta.safe_text import tell_number
from pages.parts import fill, grid

OPEN: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def make(root: Path) -> dict[Path, str]:
    kept = {path.stem: [(run.id, run.spec) for run in read_results(path).runs] for path in Kept(root / "results").files}
    ids = {id for runs in kept.values() for id, _ in runs}
    return fill(root / "results/README.md", {"table of missing": missing(ids), "count of earlier": earlier(kept)})


def missing(kept: set[str]) -> str:
    """A row for each table with runs to do: how many are kept, the command, and its hours."""
    rows = {}
    for entry in OPEN:
        planned = {spec.id for name in entry["recipes"] for spec in plan(name, entry)}
        if planned - kept:
            commands = ", ".join(f"`{command(name, entry)}`" for name in entry["recipes"])
            rows[entry["what"]] = [f"{len(planned & kept)} of {len(planned)}", commands, f"{entry['hours']:.1f}"]
    return grid("table", ["runs kept", "command", "hours"], rows)


def plan(name: str, entry: Mapping[str, Any]) -> Sequence[RunSpec]:
    return load_recipe(name).runs("study" if entry.get("study") else "", methods=entry.get("methods", ()))


def command(name: str, entry: Mapping[str, Any]) -> str:
    methods = f" --method {','.join(entry['methods'])}" if "methods" in entry else ""
    return f"gotta bench {name}{' --study' if entry.get('study') else ''}{methods} --from results"


def earlier(kept: Mapping[str, Sequence[tuple[str, RunSpec]]]) -> str:
    """How many runs have the settings of a run of today and another id, because a part has another version now."""
    counts = Counter({name: sum(spec.id != id for id, spec in runs) for name, runs in kept.items()})
    stale = {name: count for name, count in counts.items() if count}
    told = ", ".join(f"{count} in `{name}`" for name, count in stale.items())
    again = "`gotta bench NAME --from results/NAME.jsonl` runs them again."
    return f"{tell_number(sum(stale.values()), 'run')}: {told}. {again}" if stale else "None."
