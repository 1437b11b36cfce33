"""Finished runs whose data or weights are others now, found before they are taken for what is asked for."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress

from gotta.data.content import content_hash
from gotta.errors import GottaError
from gotta.experiment.run.content_used import DATA, KEPT, WEIGHTS, weights_used
from gotta.experiment.run.loaded import data_of
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import is_user_part
from gotta.experiment.sweep.kept import Runs
from gotta.streams import Stream

WAY_OUT = "Put the old files back, name the new ones differently, or use another folder: --out."


def check_same_inputs(specs: Iterable[RunSpec], store: Runs, everything: bool = True) -> None:
    """Complain of finished runs whose files have another content now; a file that is not here says nothing.

    Without `everything` nothing of the caller's is imported for it.
    """
    data_now: dict[str, str | None] = {}
    changed: Counter[tuple[str, str, str]] = Counter()
    for spec in (spec for spec in specs if store.has(spec.id)):
        seen = json.dumps(spec.model_dump(include={"data", "stream"}))
        if seen not in data_now:
            known = everything or not is_user_part("data", spec.data.name)
            data_now[seen] = _data_now(spec, store) if known else None
        looks = {
            WEIGHTS: (f"weights '{spec.model.weights or spec.model.name}'", _weights_now(spec)),
            DATA: (f"data '{spec.data.name}'", data_now[seen]),
        }
        used = store.read(spec.id).summary
        for key, (name, now) in looks.items():
            if used.get(key) and now and used[key] != now:
                changed[name, str(used[key])[:12], now[:12]] += 1
    if changed:
        lines = [
            f"{count} finished runs in '{store.root}' used other {name} (sha256 {was}..., it is {now}... now)."
            for (name, was, now), count in changed.items()
        ]
        raise GottaError("\n".join([*lines, WAY_OUT]))


def _data_now(spec: RunSpec, store: Runs) -> str | None:
    with suppress(GottaError):  # not here: nothing to compare with
        stream = Stream(data_of(spec), spec.stream_spec())
        return content_hash(stream.dataset, stream.domains, store.root / KEPT, remember=False)
    return None


def _weights_now(spec: RunSpec) -> str | None:
    with suppress(GottaError):
        return weights_used(spec).get(WEIGHTS)
    return None
