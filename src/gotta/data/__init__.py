"""Images: bundled, read from the layouts people have, and corrupted."""

from gotta.data.corruptions import EXTRA, STANDARD, corrupt
from gotta.data.dataset import DATASETS, Corrupted, dataset
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.data.readers.bundled import bundled
from gotta.data.readers.cifar import cifar10, cifar100
from gotta.data.readers.items import from_huggingface, from_torch
from gotta.data.readers.pictures import image_folder

__all__ = [
    "DATASETS",
    "EXTRA",
    "STANDARD",
    "Corrupted",
    "bundled",
    "cifar10",
    "cifar100",
    "corrupt",
    "dataset",
    "from_huggingface",
    "from_torch",
    "image_folder",
    "make_cifar_c",
]
