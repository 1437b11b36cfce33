"""One's own results for the leaderboard: packed only if they can be ranked fairly with those of others."""

from collections.abc import Collection, Sequence
from pathlib import Path

from gotta.checks.parts import check_part
from gotta.errors import GottaError
from gotta.experiment.recipe.protocol import Protocol, find_protocol, load_protocol, protocols
from gotta.experiment.spec.user_parts import PLACES, REGISTRIES, permit
from gotta.experiment.sweep.kept import Runs, keep
from gotta.groups import group
from gotta.report.panel import Entry, place
from gotta.report.rows import NO_MEMORY, row_of
from gotta.report.stored_run import Run, read_runs
from gotta.safe_text import tell_few, tell_number

ENOUGH = 3  # seeds


def submit(runs: Runs, to: Path, imports: Collection[str] = ()) -> tuple[int, list[str]]:
    """Pack the runs as lines; how many, and the protocols that they are of.

    Refused, with nothing written, are damaged runs, runs of no protocol or of one without a version, cells of fewer
    than 3 seeds, methods with a memory whose controls are missing, and parts that `gotta check` does not pass.
    `imports` are the modules of one's own that may be imported for that.
    """
    found, damaged = read_runs(runs)
    if damaged:
        raise GottaError(f"run {damaged[0][0]} in '{runs.root}' is damaged: {damaged[0][1]}. Run it again.")
    if not found:
        raise GottaError(f"no finished runs in '{runs.root}'. Expected a folder of 'gotta bench'.")
    by_protocol = group(found, _name_protocol)
    for name, members in by_protocol.items():
        for panel in place(members).panels:
            where = f"{name}, {panel.title}" if panel.title else name
            _check_seeds([entry for entry in panel.entries if not entry.column.is_bare_source], where)
            _check_controls(load_protocol(name), panel.runs)
    _check_parts(found, imports)
    if to.exists():
        raise GottaError(f"'{to}' exists. Name another file with --out, or delete it.")
    keep(runs, to)
    return len(found), list(by_protocol)


def _name_protocol(run: Run) -> str:
    """The protocol of a run; it must be of one that has a version."""
    known, named = ", ".join(protocols()), run.stored.recipe.get("protocol")
    if isinstance(named, str) and named not in protocols():
        told = f"run {run.id} was made by protocol '{named}', which has no version here"
        raise GottaError(f"{told}. Expected one of {known}, whose files never change.")
    protocol = find_protocol(run.spec)
    if protocol is None:
        told = f"run {run.id} ({run.spec.label}) belongs to no protocol that has a version"
        raise GottaError(f"{told}. Expected the settings of one of {known}, named in its recipe by 'protocol:'.")
    return protocol.name


def _check_seeds(entries: Sequence[Entry], where: str) -> None:
    for entry in entries:
        seeds = {run.seed for run in entry.runs}
        if len(seeds) < ENOUGH:
            told = f"{entry.name} has {tell_number(len(seeds), 'seed')} on the stream of {where}"
            raise GottaError(f"{told}. Expected at least {ENOUGH}, as with --seeds 0,1,2.")


def _check_controls(protocol: Protocol, runs: Sequence[Run]) -> None:
    have = {(method, run.spec.control) for run in runs for method in ("", run.spec.method.name)}  # "" is any method
    remember = {run.spec.method.name for run in runs if run.spec.control is None and row_of(run) != NO_MEMORY}
    for method in sorted(remember) or [""]:
        lacking = [name for name in protocol.controls if (method, name) not in have]
        if lacking:
            whose = f"{method} has a memory and lacks" if method else "the runs lack"
            told = f"{whose} the control{'s' * (len(lacking) > 1)} {', '.join(lacking)}, without which nobody can tell"
            add = f"Add 'control: [{', '.join(protocol.controls)}]' to its cells"
            raise GottaError(f"{told} what a gain is due to. {add}.")


def _check_parts(runs: Sequence[Run], imports: Collection[str]) -> None:
    """Every part of one's own must be the code that made the runs, and keep the rules of its kind."""
    for (kind, name), run in _own_parts(runs).items():
        module = name.partition(":")[0]
        if ":" in name and module not in imports:
            raise GottaError(f"{kind} '{name}' is your own code, imported only on your word. Add --import {module}.")
        permit(run.spec.model_dump(), [module])
        REGISTRIES[kind].take(name)
        if run.spec.id != run.id:
            raise GottaError(f"{kind} '{name}' is not what it was when run {run.id} was made. Run it again.")
        settings = dict(getattr(getattr(run.spec, kind, None), "arguments", {}))
        report = check_part(name, REGISTRIES[kind].kind, settings=settings)
        if not report.passed:
            told = tell_few([result.property for result in report.failures], 1)
            raise GottaError(f"{kind} '{name}' does not pass its checks: {told}. See: gotta check {name}")


def _own_parts(runs: Sequence[Run]) -> dict[tuple[str, str], Run]:
    """Each part whose files, and not a version of gotta's, the name of a run covers, with one such run.

    Networks are left out: they have no checks.
    """
    found: dict[tuple[str, str], Run] = {}
    for run in runs:
        sections, parts = run.spec.model_dump(), run.stored.identity.get("parts", {})
        for kind in [kind for kind, part in parts.items() if part.get("files") and kind != "model"]:
            name = sections[PLACES[kind]][kind] if kind in PLACES else sections[kind]["name"]
            found.setdefault((kind, str(name)), run)
    return found
