"""The clean images that a spec names for its method, read from the package or the data home."""

import hashlib
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from gotta import seeds
from gotta.data.home import VARIABLE, find
from gotta.data.local.catalogue import usual_names
from gotta.data.readers.bundled import bundled
from gotta.data.readers.cifar import cifar10, cifar100
from gotta.data.readers.pictures import Fit, Pictures
from gotta.errors import GottaError
from gotta.experiment.spec import clean_samples
from gotta.experiment.spec.clean_samples import CleanSamples, asks_for_samples, without_samples
from gotta.experiment.spec.run_spec import RunSpec
from gotta.models import Backbone
from gotta.types import Images, IntArray, torch_images

ANY_SIZE = 32  # where no network asks for a size
AS_IMAGES = {"fisher": "fisher_data", "source_data": "source_data"}  # what a method calls the images themselves


def clean_images(spec: RunSpec, model: Backbone | None) -> dict[str, Images]:
    """The images [number, H, W, 3] that the spec's method asks for, in the size of the network, by their setting."""
    setting = asks_for_samples(spec.method)
    if setting is None:
        return {}
    size = ANY_SIZE if model is None else model.input.size
    asked = CleanSamples(**spec.method.arguments[setting])
    return {setting: _read(spec.method.name, setting, asked, size, os.environ.get(VARIABLE))}


def method_arguments(spec: RunSpec, model: Backbone) -> dict[str, Any]:
    """What the method is built with: its arguments, with the images in place of their names."""
    device = next(model.parameters()).device
    found = clean_images(spec, model).items()
    taken = {AS_IMAGES[setting]: torch_images(images).to(device) for setting, images in found}
    return {**without_samples(spec.method), **taken}


def images_used(spec: RunSpec, model: Backbone) -> dict[str, str]:
    """What a summary says of them."""
    found = clean_images(spec, model).items()
    return {f"{setting}_sha256": hashlib.sha256(images.tobytes()).hexdigest() for setting, images in found}


@lru_cache(maxsize=2)
def _read(method: str, setting: str, chosen: CleanSamples, size: int, data_home: str | None) -> Images:
    owner = f"method '{method}' (its clean samples)"
    assert chosen.data is not None
    if chosen.data in KNOWN:
        images = KNOWN[chosen.data](owner)
        return images[_rows(setting, chosen, len(images))]
    pictures = Pictures.of(find(owner, chosen.data))
    return pictures.read(_rows(setting, chosen, len(pictures)), Fit(size))


KNOWN: dict[str, Callable[[str], Images]] = {  # all images, for whoever asks
    clean_samples.BUNDLED: lambda owner: bundled("train")[0],
    clean_samples.CIFAR10: lambda owner: cifar10(find(owner, None, *usual_names("cifar10")), "train")[0],
    clean_samples.CIFAR100: lambda owner: cifar100(find(owner, None, *usual_names("cifar100")), "train")[0],
}


def _rows(setting: str, chosen: CleanSamples, there: int) -> IntArray:
    assert chosen.number is not None
    if chosen.number > there:
        told = f"method.{setting}.number must be at most {there}, as '{chosen.data}' has"
        raise GottaError(f"{told} (got {chosen.number}).")
    rng = seeds.generator(chosen.seed, setting)
    return np.sort(rng.choice(there, chosen.number, replace=False)).astype(np.int64)
