"""Data sets and networks: loaded once, and shared by the cells that a process runs."""

import os
from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path

import torch

from gotta.data import DATASETS, dataset
from gotta.data.content import content_hash
from gotta.data.home import VARIABLE, locate
from gotta.errors import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.sections import DataSpec, ModelSpec
from gotta.experiment.spec.source_files import source_files
from gotta.experiment.spec.user_parts import check_permitted
from gotta.files import digest
from gotta.models import Backbone, load
from gotta.models.embedding import CLASSIFIER
from gotta.models.own import is_own
from gotta.models.pretrained import find_snapshot, is_pretrained
from gotta.models.zoo import RANDOM
from gotta.streams import Stream
from gotta.types import Dataset


def find_weights(named: str | None, what: str = "the weights file") -> Path | str | None:
    """A checkpoint by a whole path or one that begins with a dot as it is, by any other in the data home."""
    if named is None or named == RANDOM or is_pretrained(named):
        return named
    path = Path(named).expanduser()
    return path if path.is_absolute() or named.startswith(("./", "../")) else locate(what, named)


def find_head(named: str | None) -> Path | str | None:
    """The file of class embeddings, found as weights are."""
    return named if named == CLASSIFIER else find_weights(named, "the file of class embeddings")


def share_model(model: ModelSpec, num_classes: int) -> Backbone:
    """The network of a spec. Untrained ones and the caller's own receive the number of classes of the data."""
    check_permitted({"model": {"name": model.name}})
    weights, rows = find_weights(model.weights), find_head(model.head)
    own = is_own(model.name)
    told = num_classes if model.weights == RANDOM or own else None
    code = source_files(model.name.partition(":")[0], f"model '{model.name}'") if own else {}
    return _load_network(model, weights, rows, told, (stamp(_find_file(model)), stamp(rows), *code.items()))


def stamp(weights: Path | str | None) -> tuple[int, int]:
    """The size and the time of a file, which change when it is replaced."""
    if not isinstance(weights, Path) or not weights.is_file():
        return (0, 0)
    status = weights.stat()
    return (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)  # cells of a sweep share weights, and a worker runs many cells
def _load_network(
    model: ModelSpec, weights: Path | str | None, head: Path | str | None, num_classes: int | None, stamps: Hashable
) -> Backbone:
    made = load(model.name, weights, num_classes, model.preprocessing, head=head, scale=model.scale)
    if is_own(model.name):
        return made  # whose channels come first
    # On a CPU convolutions are up to a third faster with the channels last.
    return made.to(memory_format=torch.channels_last)  # type: ignore[no-any-return, call-overload]


_placed: dict[DataSpec, Dataset] = {}


def place(spec: DataSpec, data: Dataset) -> None:
    """Give this process a data set that somebody else has read."""
    _placed[spec] = data


def share_dataset(spec: DataSpec) -> Dataset:
    """Cells of a sweep share images, and a worker runs many cells."""
    if spec in _placed:
        return _placed[spec]
    DATASETS.get(spec.name)  # refused unless it is registered or the caller gave it
    return _load_once(spec, os.environ.get(VARIABLE))


@lru_cache(maxsize=2)
def _load_once(spec: DataSpec, data_home: str | None) -> Dataset:
    return dataset(spec.name, **spec.arguments)


def data_of(spec: RunSpec) -> Dataset:
    return share_dataset(spec.data)


def model_of(spec: RunSpec) -> Backbone:
    return share_model(spec.model, data_of(spec).num_classes)


def check_classes(spec: RunSpec, model: Backbone, data: Dataset) -> None:
    if model.num_classes != data.num_classes:
        told = f"model '{spec.model.name}' tells {model.num_classes} classes apart and data set '{spec.data.name}' has"
        raise GottaError(f"{told} {data.num_classes}. Choose a model trained on these classes.")


WEIGHTS, HEAD, DATA = "weights_sha256", "head_sha256", "data_sha256"
KEPT = "data-hashes.json"  # in a store: what data files were hashed to, by their sizes and dates


def inputs_used(spec: RunSpec, stream: Stream, kept: Path | None = None) -> dict[str, str]:
    """What a summary says of them; nothing of bundled or random weights, which their name tells."""
    return {DATA: content_hash(stream.dataset, stream.domains, kept), **weights_used(spec)}


def weights_used(spec: RunSpec) -> dict[str, str]:
    files = {WEIGHTS: _find_file(spec.model), HEAD: find_head(spec.model.head)}
    return {name: digest(file) for name, file in files.items() if isinstance(file, Path) and file.is_file()}


def _find_file(model: ModelSpec) -> Path | str | None:
    """The weights of a network: in the file that is the network, in a snapshot, or by a name of their own."""
    if model.name.endswith(".safetensors"):
        return Path(model.name)
    return find_snapshot(model.name) if is_pretrained(model.weights) else find_weights(model.weights)
