"""Names for the runs of a sweep that tell them apart."""

from collections import defaultdict
from collections.abc import Sequence

from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.settings import flatten, tell_apart


def labels(specs: Sequence[RunSpec]) -> dict[str, str]:
    """A label for each run by its id; runs of one label are told apart by the settings they differ in."""
    alike: dict[str, list[RunSpec]] = defaultdict(list)
    for spec in specs:
        alike[spec.label].append(spec)
    return {spec.id: text for same in alike.values() for spec, text in zip(same, _told_apart(same), strict=True)}


def _told_apart(specs: Sequence[RunSpec]) -> list[str]:
    if len(specs) == 1:
        return [specs[0].label]
    settings = [flatten(spec.model_dump()) for spec in specs]
    chosen = tell_apart(settings)
    told = [", ".join(f"{name.split('.')[-1]}={one.get(name)}" for name in chosen) for one in settings]
    return [f"{spec.label}, {text}" for spec, text in zip(specs, told, strict=True)]
