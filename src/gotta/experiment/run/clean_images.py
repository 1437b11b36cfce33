"""The clean images that a spec names for Fisher information, read from the package or the data home."""

import hashlib
import os
from functools import lru_cache
from typing import Any

import numpy as np
from torch import Tensor

from gotta import seeds
from gotta.data.home import VARIABLE, find
from gotta.data.readers.bundled import bundled
from gotta.data.readers.cifar import cifar10
from gotta.data.readers.cifar100 import cifar100
from gotta.data.readers.pictures import Fit, Pictures
from gotta.data.sets.cifar_sets import CIFAR10, CIFAR10_FOLDERS, CIFAR100
from gotta.errors import GottaError
from gotta.experiment.spec import clean_samples
from gotta.experiment.spec.clean_samples import CleanSamples, asks_for_samples, without_samples
from gotta.experiment.spec.run_spec import RunSpec
from gotta.models import Backbone
from gotta.types import Images, IntArray, torch_images

OWNER = "method 'eata' (its clean samples)"
USED = "fisher_sha256"


def clean_images(spec: RunSpec, model: Backbone) -> Images | None:
    """The images [number, H, W, 3] that the spec's method asks for; None if it asks for none."""
    if not asks_for_samples(spec.method.name, spec.method.arguments):
        return None
    asked = CleanSamples(**spec.method.arguments[clean_samples.FISHER])
    return _read(asked.model_dump_json(), model.input.size, os.environ.get(VARIABLE))


def method_arguments(spec: RunSpec, model: Backbone) -> dict[str, Any]:
    """What the method is built with: its arguments, with the images in place of their names."""
    images = clean_images(spec, model)
    arguments = without_samples(spec.method.name, spec.method.arguments)
    return arguments if images is None else {**arguments, "fisher_data": _tensor(images, model)}


def images_used(spec: RunSpec, model: Backbone) -> dict[str, str]:
    """What a summary says of them."""
    images = clean_images(spec, model)
    return {} if images is None else {USED: hashlib.sha256(images.tobytes()).hexdigest()}


def _tensor(images: Images, model: Backbone) -> Tensor:
    return torch_images(images).to(next(model.parameters()).device)


@lru_cache(maxsize=2)
def _read(asked: str, size: int, data_home: str | None) -> Images:
    chosen = CleanSamples.model_validate_json(asked)
    assert chosen.data is not None
    if chosen.data in (clean_samples.BUNDLED, clean_samples.CIFAR10, clean_samples.CIFAR100):
        images = _all_images(chosen.data)
        return images[_rows(chosen, len(images))]
    pictures = Pictures.of(find(OWNER, chosen.data))
    return pictures.read(_rows(chosen, len(pictures)), Fit(size))


def _all_images(name: str) -> Images:
    if name == clean_samples.BUNDLED:
        return bundled("train")[0]
    if name == clean_samples.CIFAR10:
        return cifar10(find(OWNER, None, *CIFAR10, *CIFAR10_FOLDERS), "train")[0]
    return cifar100(find(OWNER, None, *CIFAR100), "train")[0]


def _rows(chosen: CleanSamples, there: int) -> IntArray:
    assert chosen.number is not None
    if chosen.number > there:
        raise GottaError(f"method.fisher.number must be at most {there}, as '{chosen.data}' has (got {chosen.number}).")
    rng = seeds.generator(chosen.seed, clean_samples.FISHER)
    return np.sort(rng.choice(there, chosen.number, replace=False)).astype(np.int64)
