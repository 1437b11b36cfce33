"""The public suite passes data sets that keep the rules and catches those that do not."""

import numpy as np
import pytest
from data.image_files import by_class, write
from data.video_files import write_tracks

from gotta.checks import dataset as checks
from gotta.errors import GottaError, unknown

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("name", ["cifar10-mini", "cifar10-mini-video"])
def test_bundled_data_sets_pass(name):
    checks.check(name, examples=6)


def test_folders_of_images_and_of_tracks_pass(tmp_path):
    write(tmp_path / "images", by_class(["a", "b"], 3, 12))
    checks.check("folder", examples=6, path=str(tmp_path / "images"), size=12)
    write_tracks(tmp_path / "tracks")
    checks.check("tracks", examples=6, path=str(tmp_path / "tracks"))


class Grey:
    """Right: an image is as grey as its row and its domain say."""

    num_classes = 3
    domains = ("clean", "dark")
    least = 0

    def __init__(self, count=12):
        self.labels = np.arange(count) % 3
        self.pixels = np.broadcast_to(np.arange(count, dtype=np.uint8)[:, None, None, None], (count, 4, 5, 3)).copy()

    def images(self, domain, indices):
        if domain not in self.domains:
            raise unknown("domain", domain, self.domains)
        if len(indices) and not self.least <= min(indices) <= max(indices) < len(self.labels):
            raise GottaError("no such row.")
        return self.pixels[indices] + (100 if domain == "dark" else 0)


class FromOne(Grey):
    def __init__(self):
        super().__init__()
        self.labels = self.labels + 1


class FloatLabels(Grey):
    def __init__(self):
        super().__init__()
        self.labels = self.labels / 1


class ListLabels(Grey):
    def __init__(self):
        super().__init__()
        self.labels = self.labels.tolist()


class TwiceTheDomain(Grey):
    domains = ("clean", "clean")


class HostileDomain(Grey):
    domains = ("clean", "da\x1brk")


class OneDomainAsText(Grey):
    domains = "clean"


class Floats(Grey):
    def images(self, domain, indices):
        return super().images(domain, indices) / 255


class ChannelsFirst(Grey):
    def images(self, domain, indices):
        return super().images(domain, indices).transpose(0, 3, 1, 2)


class TwoSizes(Grey):
    def images(self, domain, indices):
        return super().images(domain, indices)[:, : 3 if domain == "dark" else 4]


class FailsOnNone(Grey):
    def images(self, domain, indices):
        return np.stack(list(super().images(domain, indices)))


class Sorts(Grey):
    def images(self, domain, indices):
        return super().images(domain, np.sort(indices))


class NoiseByPlace(Grey):
    def images(self, domain, indices):
        return super().images(domain, indices) + np.arange(len(indices), dtype=np.uint8)[:, None, None, None]


class AnotherTime(Grey):
    calls = 0

    def images(self, domain, indices):
        self.calls += 1
        return super().images(domain, indices) + np.uint8(self.calls)


class GivesItsOwn(Grey):
    def images(self, domain, indices):
        found = super().images(domain, indices)
        return self.pixels[indices[0] : indices[0] + 1] if len(indices) == 1 and domain == "clean" else found


class TakesNegativeRows(Grey):
    least = -5


class AnyDomain(Grey):
    def images(self, domain, indices):
        return super().images("clean", indices)


class RaisesIndexError(Grey):
    def images(self, domain, indices):
        if domain not in self.domains:
            raise IndexError(domain)
        return super().images(domain, indices)


class RequiresNothing(Grey):
    def require(self, domains):
        pass


class RequiresTooMuch(Grey):
    def require(self, domains):
        raise GottaError("nothing is here.")


WRONG = {
    FromOne: "labels",
    FloatLabels: "labels",
    ListLabels: "labels",
    TwiceTheDomain: "different names",
    HostileDomain: "different names",
    OneDomainAsText: "different names",
    Floats: "uint8",
    ChannelsFirst: "uint8",
    TwoSizes: "one size",
    FailsOnNone: "or none",
    Sorts: "their order",
    NoiseByPlace: "company",
    AnotherTime: "when it is asked for",
    GivesItsOwn: "are changed",
    TakesNegativeRows: "complains",
    AnyDomain: "complains",
    RaisesIndexError: "complains",
    RequiresNothing: "require",
    RequiresTooMuch: "require",
}


def test_a_right_one_passes_as_class_and_as_object():
    checks.check(Grey, examples=6, count=7)
    checks.check(Grey(), examples=6)


@pytest.mark.parametrize("data", WRONG, ids=lambda data: data.__name__)
def test_wrong_ones_are_caught(data):
    report = checks.run(data, examples=12)
    assert any(WRONG[data] in failure.property for failure in report.failures), str(report)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("cifar10-min", "Did you mean 'cifar10-mini'"),
        ("json:JSONDecoder", "another kind and was not called"),
        (dict, "has no images to ask for"),
        (3, "has no images to ask for"),
        ("folder", "needs the argument 'path'"),
    ],
)
def test_what_is_no_data_set_is_the_callers_mistake(data, words):
    with pytest.raises(GottaError, match=words):
        checks.run(data)
