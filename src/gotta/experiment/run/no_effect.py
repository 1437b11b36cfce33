"""Which cells make no sense: what a method does has no effect on this network, so its number is another cell's."""

from collections.abc import Iterable
from contextlib import suppress
from copy import deepcopy

from gotta.errors import GottaError, NoEffect
from gotta.experiment.run.loaded import share_model
from gotta.experiment.spec.clean_samples import without_samples
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import MethodSpec
from gotta.methods import methods
from gotta.models import Backbone
from gotta.statistics.normalization import has_batch_norm

ANY = 2  # classes of a network without weights: its layers are the same for any number


def settle_cell(spec: RunSpec, model: Backbone) -> tuple[RunSpec, str]:
    """The run to do, and why the cell says nothing of its own, or nothing. The model is left as it is.

    A method without effect is the source model, and runs as it.
    """
    try:
        methods.build(spec.method.name, model=deepcopy(model), **without_samples(spec.method))
    except NoEffect as reason:
        source = MethodSpec(name="source", statistics="source", embedding=spec.method.embedding)
        return spec.model_copy(update={"method": source, "control": None}), str(reason)
    if spec.control == "running_statistics" and not has_batch_norm(model):
        return spec, "this model has no BatchNorm layers, so there are no running statistics: it equals 'same_samples'."
    return spec, ""


def without_effect(specs: Iterable[RunSpec]) -> dict[str, str]:
    """For each kind of cell that makes no sense, by the names of method, control and model, the reason."""
    found: dict[str, str] = {}
    for spec in specs:
        name = " + ".join(part for part in (spec.method.name, spec.control) if part) + f" on {spec.model.name}"
        if name not in found:
            found[name] = ""
            with suppress(GottaError):  # whatever else is wrong, the run will say
                _, found[name] = settle_cell(spec, share_model(spec.model, ANY))
    return {name: reason for name, reason in found.items() if reason}
