"""CIFAR as data sets: the test images, corrupted when asked for, or as published with their corruptions."""

from gotta.data.dataset import DATASETS, Corrupted
from gotta.data.home import find
from gotta.data.local.catalogue import usual_names
from gotta.data.readers.bundled import bundled
from gotta.data.readers.cifar import cifar10, cifar100
from gotta.data.readers.cifar_c import CifarC


@DATASETS.register("cifar10-mini")
def cifar10_mini(table: str = "cifar", seed: int = 0) -> Corrupted:
    """The bundled 2,000 test images of CIFAR-10, 200 per class."""
    images, labels, _ = bundled()
    return Corrupted(images, labels, 10, table, seed)


@DATASETS.register("cifar10")
def cifar10_test(path: str | None = None, table: str = "cifar", seed: int = 0) -> Corrupted:
    """The 10,000 test images of CIFAR-10, corrupted on demand."""
    images, labels = cifar10(find("data set 'cifar10'", path, *usual_names("cifar10")), "test")
    return Corrupted(images, labels, 10, table, seed)


@DATASETS.register("cifar100")
def cifar100_test(path: str | None = None, table: str = "cifar", seed: int = 0) -> Corrupted:
    """The 10,000 test images of CIFAR-100, corrupted on demand."""
    images, labels = cifar100(find("data set 'cifar100'", path, *usual_names("cifar100")), "test")
    return Corrupted(images, labels, 100, table, seed)


@DATASETS.register("cifar10_c")
def cifar10_c(path: str | None = None) -> CifarC:
    """CIFAR-10-C in its published files, `<corruption>.npy` and `labels.npy`."""
    return CifarC(find("data set 'cifar10_c'", path, *usual_names("cifar10_c")), 10)


@DATASETS.register("cifar100_c")
def cifar100_c(path: str | None = None) -> CifarC:
    """CIFAR-100-C in its published files, `<corruption>.npy` and `labels.npy`."""
    return CifarC(find("data set 'cifar100_c'", path, *usual_names("cifar100_c")), 100)
