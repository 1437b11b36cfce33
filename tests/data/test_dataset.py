"""Corrupted data sets: an image's pixels depend on the image and the domain, on nothing else."""

import pickle
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

import gotta.registry
from gotta.data import DATASETS, EXTRA, STANDARD, Corrupted, bundled, corrupt, dataset
from gotta.errors import GottaError

COUNT = 12
RANDOM = ("gaussian_noise-5", "glass_blur-3", "snow-2", "frost-4", "elastic_transform-5", "spatter-1")


def data(**arguments):
    images, labels, _ = bundled()
    return Corrupted(images[:COUNT], labels[:COUNT], num_classes=10, **arguments)


@pytest.mark.parametrize("domain", [*RANDOM, "contrast-5"])
def test_same_pixels_whatever_the_order_and_company(domain):
    expected = data().images(domain, np.arange(COUNT))
    backwards = data().images(domain, np.arange(COUNT)[::-1])
    assert np.array_equal(backwards[::-1], expected)
    alone = data()
    for row in (7, 2, 7, 11):
        assert np.array_equal(alone.images(domain, np.array([row]))[0], expected[row])
    assert np.array_equal(data().images(domain, np.array([3, 3, 5])), expected[[3, 3, 5]])


@pytest.mark.parametrize("domain", RANDOM)
def test_kept_images_equal_those_made_afresh(domain, monkeypatch):
    rows = np.array([4, 1, 4, 9])
    keeping = data()
    kept = [keeping.images(domain, rows), keeping.images(domain, rows)]
    monkeypatch.setattr(sys.modules[Corrupted.__module__], "KEEP", 0)
    afresh = data().images(domain, rows)
    assert all(np.array_equal(images, afresh) for images in kept)


def test_what_is_returned_is_the_callers_own():
    source = data()
    expected = source.images("fog-3", np.arange(4)).copy()
    source.images("fog-3", np.arange(4))[:] = 0
    assert np.array_equal(source.images("fog-3", np.arange(4)), expected)
    source.images("clean", np.arange(4))[:] = 0
    assert source.images("clean", np.arange(4)).any()


def test_domains_do_not_mix():
    source = data()
    rows = np.arange(COUNT)
    seen = [source.images(domain, rows) for domain in ("fog-1", "fog-5", "snow-5", "clean")]
    for i in range(len(seen)):
        for j in range(i):
            assert not np.array_equal(seen[i], seen[j])


def test_clean_is_clean():
    assert np.array_equal(data().images("clean", np.array([5, 0])), bundled()[0][[5, 0]])


def test_equals_the_corruption_with_the_rows_as_index():
    rows = np.array([8, 3])
    expected = corrupt(bundled()[0][rows], "shot_noise", 4, "imagenet", 9, index=rows)
    assert np.array_equal(data(table="imagenet", seed=9).images("shot_noise-4", rows), expected)


def test_seed_changes_the_noise():
    rows = np.arange(4)
    first, second = (data(seed=seed).images("gaussian_noise-3", rows) for seed in (0, 1))
    assert not np.array_equal(first, second)


def test_domains_are_clean_and_every_corruption_at_five_severities():
    domains = data().domains
    assert len(domains) == len(set(domains)) == 1 + 5 * 19
    assert len(STANDARD) + len(EXTRA) == 19
    assert {"clean", "snow-1", "jpeg_compression-5", "speckle_noise-3"} <= set(domains)


def test_mini_by_name():
    source = dataset("cifar10-mini")
    assert source.num_classes == 10
    assert np.array_equal(source.labels, bundled()[1])
    assert "cifar10-mini" in DATASETS.names()


def test_no_rows_give_no_images():
    assert data().images("snow-5", np.array([], np.int64)).shape == (0, 32, 32, 3)


@pytest.mark.parametrize(
    ("domain", "hint"), [("snwo-5", "snow-5"), ("snow-6", "snow-5"), ("snow", "snow-1"), ("clen", "clean")]
)
def test_unknown_domain(domain, hint):
    with pytest.raises(GottaError, match=f"domain '{domain}' is unknown. Did you mean '{hint[:4]}"):
        data().images(domain, np.array([0]))


@pytest.mark.parametrize("domain", ["clean", "snow-5"])
@pytest.mark.parametrize("rows", [[-1], [0, COUNT]])
def test_rows_outside_the_data_set(domain, rows):
    with pytest.raises(GottaError, match=rf"rows go from .* Expected 0 to {COUNT - 1}"):
        data().images(domain, np.array(rows))


def test_labels_that_do_not_belong():
    images, labels, _ = bundled()
    with pytest.raises(GottaError, match="4 images and 3 labels"):
        Corrupted(images[:4], labels[:3], num_classes=10)
    with pytest.raises(GottaError, match=r"labels go from 0 to 8. Expected 0 to 4"):
        Corrupted(images[:4], labels[:4], num_classes=5)


def test_unknown_data_set():
    with pytest.raises(GottaError, match=r"data set 'cifar-mini' is unknown. Did you mean 'cifar10-mini'\?"):
        dataset("cifar-mini")


def test_the_whole_test_set_is_found_where_gotta_data_says(tmp_path, monkeypatch):
    monkeypatch.delenv("GOTTA_DATA", raising=False)
    with pytest.raises(GottaError, match="let GOTTA_DATA or --data-dir name another"):
        dataset("cifar10")
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    with pytest.raises(GottaError, match=r"cifar-10-python\.tar\.gz"):
        dataset("cifar10")


def test_a_data_set_of_ones_own(monkeypatch):
    made = dataset("tiny:TinyData", per_class=2)
    assert len(made.labels) == 6
    with pytest.raises(GottaError, match=r"argument of data set 'tiny:TinyData' 'per_clas' is unknown"):
        dataset("tiny:TinyData", per_clas=2)
    with pytest.raises(GottaError, match="data set 'tiny:Nothing' cannot be imported"):
        dataset("tiny:Nothing")
    points = [EntryPoint("noise", "tiny:TinyData", "gotta_tta.dataset")]
    monkeypatch.setattr(gotta.registry, "entry_points", lambda group: points if group == "gotta_tta.dataset" else [])
    plugged = gotta.registry.Registry("data set", "gotta.data")
    assert plugged.get("noise").__name__ == "TinyData"


def test_another_process_can_have_it_without_what_was_made():
    source = data()
    expected = source.images("snow-5", np.arange(COUNT))
    sent = pickle.dumps(source)
    assert len(sent) < 1.5 * source.clean.nbytes
    assert np.array_equal(pickle.loads(sent).images("snow-5", np.arange(COUNT)), expected)


def test_the_table_is_checked_at_once():
    with pytest.raises(GottaError, match="Did you mean 'imagenet'"):
        dataset("cifar10-mini", table="imagnet")
