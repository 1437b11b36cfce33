"""What any data set must satisfy: `run("my_module:MyData", folder="...")` gives a report.

Its pixels are asked for in small random requests, so that a large data set is checked as fast as a small one.
"""

from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gotta.checks.suite import Result, Suite
from gotta.data import DATASETS, dataset
from gotta.errors import GottaError
from gotta.limits import Within
from gotta.registry import build_part
from gotta.safe_text import one_line
from gotta.streams import Stream, StreamSpec
from gotta.streams.foreign import foreign_rows
from gotta.types import FOREIGN, Dataset, IntArray

__all__ = ["check", "run"]

PIXELS_FROM = ("memory", "files", "corrupting")
FACTS = "has integer labels[N] from 0 to num_classes - 1, and domains that are different names"


@dataclass(frozen=True)
class Case:
    """A request for some images, by numbers that are brought into the data set's range."""

    count: Annotated[int, Within(1, 5)]
    domain: Annotated[int, Within(0, 999)]
    seed: Annotated[int, Within(0, 2**16)]

    def of(self, data: Dataset) -> tuple[str, IntArray]:
        rows = np.random.default_rng(self.seed).integers(len(data.labels), size=self.count)
        return data.domains[self.domain % len(data.domains)], rows


def find(data: Any, arguments: dict[str, Any]) -> Any:
    if isinstance(data, str):
        built: Any = dataset(data, **arguments)
    else:
        built = build_part("data set", data, **arguments) if isinstance(data, type) else data
    if not callable(getattr(built, "images", None)):
        name = data if isinstance(data, str) else getattr(data, "__name__", type(data).__name__)
        raise GottaError(f"data set '{name}' has no images to ask for. Expected {DATASETS.expected}.")
    return built


class OfDataSets(Suite[Any, Case]):
    """The rest is tried where the plain facts hold."""

    def try_all(self, subject: Any, name: str, examples: int, seed: int) -> list[Result]:
        try:
            _facts_hold(subject)
        except (Exception, SystemExit) as error:  # whatever a data set of the caller's own raises
            return [Result(FACTS, False, f"{type(error).__name__}: {error}")]
        return [Result(FACTS, True), *super().try_all(subject, name, examples, seed)]


def _facts_hold(data: Any) -> None:
    labels, classes, domains = data.labels, data.num_classes, data.domains
    assert isinstance(labels, np.ndarray), f"labels are a {type(labels).__name__}, expected a NumPy array"
    assert labels.ndim == 1, f"labels of shape {labels.shape}, expected [N]"
    assert labels.dtype.kind in "iu", f"labels of type {labels.dtype}, expected whole numbers"
    assert len(labels), "there are no images"
    assert isinstance(classes, int | np.integer), f"num_classes={classes!r}, expected a whole number"
    own = np.setdiff1d(np.arange(len(labels)), foreign_rows(data))
    assert (labels[foreign_rows(data)] == FOREIGN).all(), f"foreign images with another label than {FOREIGN}"
    low, high = labels[own].min(), labels[own].max()
    assert 0 <= low <= high < classes, f"labels from {low} to {high}, expected 0 to {classes - 1}"
    assert not isinstance(domains, str), "domains are one text, expected a sequence of names"
    assert len(domains), "there are no domains"
    odd = [name for name in domains if not isinstance(name, str) or not name or one_line(name) != name]
    assert not odd, f"domains that are not names: {odd[:3]!r}"
    assert len(set(domains)) == len(domains), "two domains have one name"
    pixels_from = getattr(data, "pixels_from", PIXELS_FROM[0])
    assert pixels_from in PIXELS_FROM, f"pixels_from={pixels_from!r}, expected one of {', '.join(PIXELS_FROM)}"
    clips = getattr(data, "clips", None)
    if clips is not None:
        assert len(clips) == len(labels), f"{len(clips)} clips for {len(labels)} frames"
        per_clip = {(int(clip), int(label)) for clip, label in zip(clips, labels, strict=True)}
        assert len(per_clip) == len({clip for clip, _ in per_clip}), "a clip has frames of two classes"


SUITE = OfDataSets(DATASETS, Case, find, examples=12)
named, run, check = SUITE.named, SUITE.run, SUITE.check


@named("gives uint8 images [n, H, W, 3], of one size in all domains, as many as asked for, or none")
def gives_images(data: Any, case: Case) -> None:
    domain, rows = case.of(data)
    first = data.images(data.domains[0], rows[:1])
    images, none = data.images(domain, rows), data.images(domain, rows[:0])
    for found, count in ((images, len(rows)), (none, 0)):
        assert isinstance(found, np.ndarray), f"images() gives a {type(found).__name__}, expected a NumPy array"
        assert found.dtype == np.uint8, f"images of type {found.dtype}, expected uint8 from 0 to 255"
        assert found.shape[3:] == (3,), f"images of shape {found.shape}, expected [n, H, W, 3]"
        assert len(found) == count, f"{len(found)} images for {count} rows"
    assert images.shape[1:] == first.shape[1:], f"{images.shape[1:]} in '{domain}', {first.shape[1:]} elsewhere"


@named("an image depends on its domain and row alone: not on its company, their order, or when it is asked for")
def random_access(data: Any, case: Case) -> None:
    domain, rows = case.of(data)
    together = data.images(domain, rows).copy()
    for at, row in enumerate(rows):
        assert np.array_equal(data.images(domain, rows[at : at + 1])[0], together[at]), f"row {row} alone is another"
    assert np.array_equal(data.images(domain, rows[::-1]), together[::-1]), "another order of rows gives other images"
    twice = np.concatenate([rows, rows])
    expected = np.concatenate([together, together])
    assert np.array_equal(data.images(domain, twice), expected), "rows that come twice give other images"


@named("keeps its images when those it gave are changed, and the rows it was asked for as they were")
def gives_copies(data: Any, case: Case) -> None:
    domain, rows = case.of(data)
    asked = rows.copy()
    given = data.images(domain, rows)
    assert np.array_equal(asked, rows), "images() changed the rows it was asked for"
    before = given.copy()
    if given.flags.writeable:
        given[:] = 255 - given
    assert np.array_equal(data.images(domain, rows), before), "changing given images changed the data set"


@named("complains with GottaError of domains and rows it does not have; require() likewise")
def complains(data: Any, case: Case) -> None:
    domain, rows = case.of(data)
    for wrong, asked in (("no such domain", rows), (domain, np.array([len(data.labels)])), (domain, np.array([-1]))):
        with suppress(GottaError):
            data.images(wrong, asked)
            raise AssertionError(f"images('{wrong}', {asked.tolist()}) did not complain")
    if hasattr(data, "require"):
        data.require([domain])
        with suppress(GottaError):
            data.require([domain, "no such domain"])
            raise AssertionError("require() did not complain of a domain that is not there")


@named("makes a stream, whose images are from 0 to 1 and whose labels are those of the data set")
def makes_a_stream(data: Any, case: Case) -> None:
    domain, _ = case.of(data)
    few: dict[str, Any] = {"limit": min(4, len(data.labels))}
    if getattr(data, "clips", None) is not None:
        few = {"clips": 1, "frames": 4}
    settings = {"order": "iid", "domains": (domain,), "batch_size": 4, "choose": "random", "seed": case.seed, **few}
    stream = Stream(data, StreamSpec(**settings))
    for step in stream:
        assert 0 <= step.x.min() <= step.x.max() <= 1, "images that are not from 0 to 1"
        assert np.array_equal(step.truth.label, np.asarray(data.labels)[step.truth.index]), "labels of other images"
