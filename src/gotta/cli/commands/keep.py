"""`gotta keep`: finished runs as lines of a file, for a repository."""

from pathlib import Path

from gotta.errors import GottaError


def keep(runs: Path, to: Path) -> None:
    """Add finished runs to a file, a line for each: settings, numbers, cost, hashes, environment; no records of steps.

    What the file has stays as it is, so the same command again changes nothing. A damaged run is refused.

    Example: `gotta keep runs/mini results/mini.jsonl`, then `gotta report`, `compare`, `status`, `export` and
    `gotta bench --from` take results/mini.jsonl as they take runs/mini.

    Arguments:
        runs: A folder that `gotta bench` wrote, or other kept lines.
        to: The file that gets their lines, such as results/table1.jsonl.
    """
    from gotta.experiment.sweep.kept import existing_runs
    from gotta.experiment.sweep.kept import keep as keep_runs

    new, total = keep_runs(existing_runs(runs), to)
    if not total:
        raise GottaError(f"no finished runs in '{runs}', so there is nothing to keep.")
    print(f"{to}: {new} new of {total} runs, {to.stat().st_size / 1e6:.2f} MB")
