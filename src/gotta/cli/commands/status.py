"""`gotta status`: how far the runs of a folder are."""

from pathlib import Path
from typing import TYPE_CHECKING

from gotta.cli.options import AsJson, print_json
from gotta.errors import GottaError
from gotta.safe_text import one_line, tell_seconds

if TYPE_CHECKING:
    from gotta.report.store.status import Claim

SHOWN = 20


def status(folder: Path, as_json: AsJson = False) -> None:
    """Count finished, running, failed and damaged runs. Only looks: nothing is written, the sweep is not disturbed.

    Example: `gotta status runs/mini`

    Arguments:
        folder: A folder that `gotta bench` or `gotta run` writes to.
    """
    from gotta.experiment.sweep.bucket import name_of
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.report.store.status import look

    state = look(existing_runs(folder))
    name = name_of(folder)
    if not (state.runs or state.damaged or state.claims):
        raise GottaError(f"no runs in '{name}'. Expected a folder of 'gotta bench', such as runs/mini.")
    if as_json:
        finished = [run.id for run in state.runs]
        told = {"finished": finished, "claims": state.claims, "damaged": dict(state.damaged), "newest": state.newest}
        return print_json(told)
    counts = [f"{len(state.runs)} finished"]
    kinds = {claim.state for claim in state.claims}
    counts += [f"{state.count(kind)} {kind}" for kind in ("running", "waiting", "silent", "failed") if kind in kinds]
    counts += [f"{len(state.damaged)} damaged"] if state.damaged else []
    print(f"{name}: {', '.join(counts)}")
    if state.newest is not None:
        print(f"last run finished {tell_seconds(state.newest)} ago")
    for claim in state.claims[:SHOWN]:
        print(one_line(_line(claim)))
    if len(state.claims) > SHOWN:
        print(f"  and {len(state.claims) - SHOWN} more")
    for id, reason in state.damaged[:SHOWN]:
        print(one_line(f"  {id}  damaged: {reason}; a sweep that asks for it runs it again"))


def _line(claim: "Claim") -> str:
    what = {
        "running": f"running, last sign {tell_seconds(claim.age)} ago",
        "silent": f"no sign for {tell_seconds(claim.age)}: its process is probably dead, the next sweep takes over",
        "waiting": "given back unfinished; the next sweep runs it",
        "failed": f"failed {tell_seconds(claim.age)} ago; the next sweep tries again",
    }[claim.state]
    details = "; ".join(part for part in (what, claim.progress, claim.by) if part)
    return f"  {claim.id}  {details}"
