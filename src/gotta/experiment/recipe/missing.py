"""What runs need and this machine lacks, found before the first of them starts; and the commands that get it."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gotta.data.content import content_hash
from gotta.data.local.catalogue import command_for
from gotta.errors import GottaError, messages
from gotta.experiment.run import loaded
from gotta.experiment.run.clean_images import clean_images
from gotta.experiment.spec.clean_samples import asks_for_samples
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import DataSpec, ModelSpec
from gotta.experiment.spec.user_parts import is_user_part
from gotta.experiment.sweep.kept import Runs
from gotta.models.own import is_own
from gotta.models.zoo import RANDOM
from gotta.streams import Stream


@dataclass(frozen=True)
class Missing:
    """Something that is not there, or that does not go with the rest; with the command that gets it, if one does."""

    what: str
    command: str = ""

    def __str__(self) -> str:
        return f"{self.what}\n    {self.command}" if self.command else self.what


def missing(specs: Sequence[RunSpec]) -> list[Missing]:
    """Each data set, network or domain that is not there, or that does not go with the others."""
    data = {spec.data: spec for spec in specs}
    models = dict.fromkeys(spec.model for spec in specs)
    found = _complaints((partial(loaded.data_of, spec), _data_command(spec.data)) for spec in data.values())
    found += _complaints(
        (partial(_look_at, model), command_for(Path(model.weights or model.name).name)) for model in models
    )
    clean = {(spec.model, json.dumps(named)): spec for spec in specs if (named := _clean_samples(spec))}
    found += _complaints((partial(_look_for_clean, spec), _clean_command(spec)) for spec in clean.values())
    if found:
        return list(dict.fromkeys(found))
    pairs = {(spec.data, spec.model): spec for spec in specs}
    streams = {(spec.data, json.dumps(spec.stream)): spec for spec in specs}
    found += _complaints((partial(_look_at_pair, spec), "") for spec in pairs.values())
    found += _complaints((partial(Stream, loaded.data_of(spec), spec.stream_spec()), "") for spec in streams.values())
    return list(dict.fromkeys(found))


def _look_for_clean(spec: RunSpec) -> None:
    model = None
    with suppress(GottaError):  # a network that is not here is complained about by itself
        model = loaded.model_of(spec)
    clean_images(spec, model)


def _clean_samples(spec: RunSpec) -> dict[str, Any]:
    """How the spec names its clean samples; empty if it names none."""
    setting = asks_for_samples(spec.method)
    named: dict[str, Any] = spec.method.arguments[setting] if setting else {}
    return named


def _clean_command(spec: RunSpec) -> str:
    return command_for(str(_clean_samples(spec).get("data", "")).removesuffix("-train"))


def _complaints(looks: Iterable[tuple[Callable[[], object], str]]) -> list[Missing]:
    return [Missing(told, command) for look, command in looks for told in messages([look])]


def _data_command(data: DataSpec) -> str:
    """For data sets with a path of their own by the file they name, else by their own name."""
    path = data.arguments.get("path")
    return command_for(Path(path).name if isinstance(path, str) else data.name)


def _look_at(model: ModelSpec) -> None:
    """Load a network, whether or not the data it is for can be found."""
    loaded.find_weights(model.weights)
    loaded.find_head(model.head)
    if model.weights != RANDOM and not is_own(model.name):  # those need to be told the number of classes
        loaded.share_model(model, num_classes=0)


def _look_at_pair(spec: RunSpec) -> None:
    loaded.check_classes(spec, loaded.model_of(spec), loaded.data_of(spec))


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
            loaded.WEIGHTS: (f"weights '{spec.model.weights or spec.model.name}'", _weights_now(spec)),
            loaded.DATA: (f"data '{spec.data.name}'", data_now[seen]),
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
        stream = Stream(loaded.data_of(spec), spec.stream_spec())
        return content_hash(stream.dataset, stream.domains, store.root / loaded.KEPT, remember=False)
    return None


def _weights_now(spec: RunSpec) -> str | None:
    with suppress(GottaError):
        return loaded.weights_used(spec).get(loaded.WEIGHTS)
    return None
