"""The network a spec names: weights files are found in the data home, and looked at before the run."""

from functools import lru_cache
from pathlib import Path

import torch

from gotta.data.home import locate
from gotta.errors import GottaError
from gotta.models import Backbone, load
from gotta.models.zoo import RANDOM, check


def check_model(name: str, weights: str | None, preprocessing: str | None) -> None:
    """Complain of a model that cannot be loaded, as far as that shows without reading its weights."""
    check(name, weights, preprocessing)
    if weights not in (None, RANDOM) and not weights_file(str(weights)).is_file():
        raise GottaError(f"no weights at {weights_file(str(weights))}. Expected a checkpoint for model '{name}'.")


def weights_file(named: str) -> Path:
    """A whole path as it is, any other in the data home."""
    path = Path(named).expanduser()
    return path if path.is_absolute() else locate(f"the weights file '{named}'", named)


@lru_cache(maxsize=2)  # cells of a sweep share weights, and a worker runs many cells
def shared_model(name: str, weights: str | None, preprocessing: str | None, num_classes: int) -> Backbone:
    """The network of a spec; untrained ones get the classes of the data, others have their own."""
    if weights is None or weights == RANDOM:
        model = load(name, weights, num_classes if weights else None, preprocessing)
    else:
        model = load(name, weights_file(weights), preprocessing=preprocessing)
    # On a CPU convolutions are up to a third faster with the channels last.
    return model.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]
