"""Which weights file a run used, by its content: a run's id names the file, and a file can be replaced."""

import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from gotta.errors import GottaError
from gotta.experiment.run.model import find_weights, stamp
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Run, Store

KEY = "weights_sha256"


def weights_used(spec: RunSpec) -> dict[str, str]:
    """What a summary says of the weights file; nothing of bundled or random weights, which their name tells."""
    path = find_weights(spec.model.weights)
    return {KEY: _digest(path, stamp(path))} if isinstance(path, Path) and path.is_file() else {}


def check_same_weights(specs: Iterable[RunSpec], store: Store) -> None:
    """Complain of finished runs whose weights file has another content now; a file that is not here says nothing."""
    changed: dict[tuple[str, str, str], int] = {}
    for spec in specs:
        if spec.model.weights and store.has(spec.id):
            was, now = _recorded(store.read(spec.id)), _now(spec)
            if was and now and was != now:
                key = (spec.model.weights, was[:12], now[:12])
                changed[key] = changed.get(key, 0) + 1
    if changed:
        lines = [
            f"{count} finished runs in '{store.root}' used another file '{name}' (sha256 {was}..., it is {now}... now)."
            for (name, was, now), count in changed.items()
        ]
        way_out = (
            "Put the old file back, name the new one differently (model.weights=...), or use another folder: --out."
        )
        raise GottaError("\n".join([*lines, way_out]))


def _recorded(run: Run) -> str | None:
    return run.summary.get(KEY)


def _now(spec: RunSpec) -> str | None:
    with suppress(GottaError):  # no data folder here: nothing to compare with
        return weights_used(spec).get(KEY)
    return None


@lru_cache(maxsize=16)
def _digest(path: Path, stamp: tuple[int, int]) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
