"""What runs need and this machine lacks, found before the first of them starts."""

import json
from collections.abc import Sequence
from functools import partial

from gotta.errors import messages
from gotta.experiment.run.model import check_model, shared_model
from gotta.experiment.run.run import check_classes, data_of, model_of
from gotta.experiment.spec.run_spec import ModelSpec, RunSpec
from gotta.models.zoo import RANDOM
from gotta.streams import Stream


def missing(specs: Sequence[RunSpec]) -> list[str]:
    """A message for each data set, network or domain that is not there, or that does not go with the others."""
    data = {json.dumps(spec.data.model_dump()): spec for spec in specs}
    models = {json.dumps(spec.model.model_dump()): spec.model for spec in specs}
    found = messages(partial(data_of, spec) for spec in data.values())
    found += messages(partial(_look_at, model) for model in models.values())
    if found:
        return found
    pairs = {json.dumps(spec.model_dump(include={"data", "model"})): spec for spec in specs}
    streams = {json.dumps(spec.model_dump(include={"data", "stream"})): spec for spec in specs}
    found += messages(partial(check_classes, spec, model_of(spec), data_of(spec)) for spec in pairs.values())
    found += messages(partial(Stream, data_of(spec), spec.stream_spec()) for spec in streams.values())
    return list(dict.fromkeys(found))


def _look_at(model: ModelSpec) -> None:
    """Load a network, whether or not the data it is for can be found."""
    check_model(**dict(model))
    if model.weights != RANDOM:  # only that needs to be told the number of classes
        shared_model(**dict(model), num_classes=0)
