"""Data sets and networks: loaded once, and shared by the cells that a process runs."""

import json
import os
from functools import lru_cache

from gotta.data import DATASETS, dataset
from gotta.data.home import VARIABLE
from gotta.errors import GottaError
from gotta.experiment.run.model import share_model
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import DataSpec
from gotta.models import Backbone
from gotta.types import Dataset

_placed: dict[str, Dataset] = {}


def place(spec: DataSpec, data: Dataset) -> None:
    """Give this process a data set that somebody else has read."""
    _placed[spec.model_dump_json()] = data


def share_dataset(spec: DataSpec) -> Dataset:
    """Cells of a sweep share images, and a worker runs many cells."""
    if (named := spec.model_dump_json()) in _placed:
        return _placed[named]
    DATASETS.get(spec.name)  # refused unless it is registered or the caller gave it
    return _load_once(spec.name, json.dumps(spec.arguments, sort_keys=True), os.environ.get(VARIABLE))


@lru_cache(maxsize=2)
def _load_once(name: str, arguments: str, data_home: str | None) -> Dataset:
    return dataset(name, **json.loads(arguments))


def data_of(spec: RunSpec) -> Dataset:
    return share_dataset(spec.data)


def model_of(spec: RunSpec) -> Backbone:
    return share_model(spec.model, data_of(spec).num_classes)


def check_classes(spec: RunSpec, model: Backbone, data: Dataset) -> None:
    if model.num_classes != data.num_classes:
        raise GottaError(
            f"model '{spec.model.name}' tells {model.num_classes} classes apart and data set '{spec.data.name}' has "
            f"{data.num_classes}. Choose a model trained on these classes."
        )
