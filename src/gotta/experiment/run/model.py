"""The network a spec names: weights files are found in the data home, and looked for before the run."""

from collections.abc import Hashable
from functools import lru_cache
from pathlib import Path

import torch

from gotta.data.home import locate
from gotta.errors import GottaError
from gotta.experiment.spec.source_files import source_files
from gotta.experiment.spec.user_parts import check_permitted
from gotta.models import Backbone, load
from gotta.models.embedding import CLASSIFIER
from gotta.models.own import is_own
from gotta.models.pretrained import is_pretrained
from gotta.models.zoo import RANDOM, check


def check_model(
    name: str, weights: str | None, preprocessing: str | None, head: str | None = None, scale: float | None = None
) -> None:
    """Complain of a model that cannot be loaded, as far as that shows without reading its weights."""
    check(name, weights, preprocessing, head, scale)
    for found, what in ((find_weights(weights), "a checkpoint"), (find_head(head), "class embeddings")):
        if isinstance(found, Path) and not found.is_file():
            raise GottaError(f"no weights at {found}. Expected {what} for model '{name}'.")


def find_weights(named: str | None, what: str = "the weights file") -> Path | str | None:
    """A checkpoint by a whole path or one that begins with a dot as it is, by any other in the data home."""
    if named is None or named == RANDOM or is_pretrained(named):
        return named
    path = Path(named).expanduser()
    return path if path.is_absolute() or named.startswith(("./", "../")) else locate(what, named)


def find_head(named: str | None) -> Path | str | None:
    """The file of class embeddings, found as weights are."""
    return named if named == CLASSIFIER else find_weights(named, "the file of class embeddings")


def share_model(
    name: str,
    weights: str | None,
    preprocessing: str | None,
    num_classes: int,
    head: str | None = None,
    scale: float | None = None,
) -> Backbone:
    """The network of a spec. Untrained ones and the caller's own receive the number of classes of the data."""
    check_permitted({"model": {"name": name}})
    found = find_weights(weights)
    told = num_classes if weights == RANDOM or is_own(name) else None
    code = source_files(name.partition(":")[0], f"model '{name}'") if is_own(name) else {}
    rows = find_head(head)
    return _load_once(name, found, told, preprocessing, rows, scale, (stamp(found), stamp(rows), *code.items()))


def stamp(weights: Path | str | None) -> tuple[int, int]:
    """The size and the time of a file, which change when it is replaced."""
    if not isinstance(weights, Path) or not weights.is_file():
        return (0, 0)
    status = weights.stat()
    return (status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)  # cells of a sweep share weights, and a worker runs many cells
def _load_once(
    name: str,
    weights: Path | str | None,
    num_classes: int | None,
    preprocessing: str | None,
    head: Path | str | None,
    scale: float | None,
    stamps: Hashable,
) -> Backbone:
    model = load(name, weights, num_classes, preprocessing, head=head, scale=scale)
    if is_own(name):
        return model  # whose channels come first
    # On a CPU convolutions are up to a third faster with the channels last.
    return model.to(memory_format=torch.channels_last)  # type: ignore[no-any-return, call-overload]
