"""`gotta status`: how far the runs of a folder are."""

from pathlib import Path

from gotta.cli.options import AsJson, show_answer
from gotta.errors import GottaError
from gotta.safe_text import one_line, tell_seconds

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
    damaged = [f"{len(state.damaged)} damaged"] if state.damaged else []
    lines = [f"{name}: {', '.join([f'{len(state.runs)} finished', *state.counts, *damaged])}"]
    if state.newest is not None:
        lines.append(f"last run finished {tell_seconds(state.newest)} ago")
    for claim in state.claims[:SHOWN]:
        ago = tell_seconds(claim.age)
        what = {
            "running": f"running, last sign {ago} ago",
            "silent": f"no sign for {ago}: its process is probably dead, the next sweep takes over",
            "waiting": "given back unfinished; the next sweep runs it",
            "failed": f"failed {ago} ago; the next sweep tries again",
        }[claim.state]
        lines.append(f"  {claim.id}  {'; '.join(filter(None, (what, claim.progress, claim.by)))}")
    if len(state.claims) > SHOWN:
        lines.append(f"  and {len(state.claims) - SHOWN} more")
    for id, reason in state.damaged[:SHOWN]:
        lines.append(f"  {id}  damaged: {reason}; a sweep that asks for it runs it again")
    finished = [run.id for run in state.runs]
    answer = {"finished": finished, "claims": state.claims, "damaged": dict(state.damaged), "newest": state.newest}
    show_answer(answer, as_json, "\n".join(map(one_line, lines)))
