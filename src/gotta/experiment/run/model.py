"""The network a spec names: weights files are found in the data home, and looked for before the run."""

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path

import torch

from gotta.data.home import locate
from gotta.errors import GottaError
from gotta.experiment.spec.sections import ModelSpec
from gotta.experiment.spec.source_files import source_files
from gotta.experiment.spec.user_parts import check_permitted
from gotta.models import Backbone, load
from gotta.models.embedding import CLASSIFIER
from gotta.models.own import is_own
from gotta.models.pretrained import is_pretrained
from gotta.models.zoo import RANDOM, check


def check_model(model: ModelSpec) -> None:
    """Complain of a model that cannot be loaded, as far as that shows without reading its weights."""
    check(**dict(model))
    for found, what in ((find_weights(model.weights), "a checkpoint"), (find_head(model.head), "class embeddings")):
        if isinstance(found, Path) and not found.is_file():
            raise GottaError(f"no weights at {found}. Expected {what} for model '{model.name}'.")


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
    return _load_once(model, weights, rows, told, (stamp(weights), stamp(rows), *code.items()))


def stamp(weights: Path | str | None) -> tuple[int, int]:
    """The size and the time of a file, which change when it is replaced."""
    if not isinstance(weights, Path) or not weights.is_file():
        return (0, 0)
    status = weights.stat()
    return (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)  # cells of a sweep share weights, and a worker runs many cells
def _load_once(
    model: ModelSpec, weights: Path | str | None, head: Path | str | None, num_classes: int | None, stamps: Hashable
) -> Backbone:
    made = load(model.name, weights, num_classes, model.preprocessing, head=head, scale=model.scale)
    if is_own(model.name):
        return made  # whose channels come first
    # On a CPU convolutions are up to a third faster with the channels last.
    return made.to(memory_format=torch.channels_last)  # type: ignore[no-any-return, call-overload]
