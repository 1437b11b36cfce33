"""The facts: complete enough to be used, of the right form, and without hosts that do not belong there."""

import re

import pytest

from gotta.data import dataset
from gotta.data.local.catalogue import catalogue, chosen, entry, usual_names
from gotta.errors import GottaError

ENTRIES = list(catalogue().values())
FORMS = [form for entry in ENTRIES for form in entry.forms]
HOSTS = {"www.cs.toronto.edu", "zenodo.org", "cs231n.stanford.edu", "download.pytorch.org"}


def test_what_people_have_is_listed():
    wanted = {"cifar10", "cifar100", "cifar10_c", "cifar100_c", "imagenet_c", "tinyimagenet", "imagenet_val", "gtsrb"}
    assert wanted <= set(catalogue())
    assert len(FORMS) > 20


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_facts_have_their_form(form):
    assert re.fullmatch("|[0-9a-f]{32}", form.md5)
    assert re.fullmatch("|[0-9a-f]{64}", form.sha256)
    if form.address:
        assert form.address.split("/")[2] in HOSTS
        assert form.part
        assert form.size
        assert form.md5 or form.sha256
        assert form.address.split("/")[-1].removesuffix("?download=1") == form.name


@pytest.mark.parametrize("kind", ["cifar10", "cifar100", "cifar10_c", "cifar100_c", "imagenet_c"])
def test_what_is_listed_as_there_is_found_by_the_data_set(kind, tmp_path, monkeypatch):
    for name in usual_names(kind):
        monkeypatch.setenv("GOTTA_DATA", str(tmp_path / name))
        (tmp_path / name / name).mkdir(parents=True)
        assert entry(kind).is_there
        with pytest.raises(GottaError, match=rf"{name}/{name}"):  # found, and empty
            dataset(kind)


def test_names_of_parts_and_defaults_agree():
    for each in ENTRIES:
        parts = [form.part for form in each.downloads]
        assert len(set(parts)) == len(parts)
        assert set(each.fetch) <= set(parts)
        assert bool(each.fetch) == bool(parts)


def test_the_archives_add_up_to_what_zenodo_lists():
    """Five archives of ImageNet-C; CIFAR-C is 19 arrays and the labels, so its size can be computed."""
    assert [form.part for form in entry("imagenet_c").downloads] == ["noise", "blur", "weather", "digital", "extra"]
    arrays = 19 * 50_000 * 32 * 32 * 3 + 50_000
    for name in ("cifar10_c", "cifar100_c"):
        size = entry(name).downloads[0].size
        assert arrays < size < arrays + 100_000


def test_names_are_forgiving_and_mistakes_helped():
    assert entry("cifar10-c") is entry("cifar10_c")
    with pytest.raises(GottaError, match="Did you mean 'imagenet-c'"):
        entry("imagenet-d")


def test_parts_are_chosen():
    def parts(name, only=""):
        return [form.part for form in chosen(entry(name), only)]

    assert parts("cifar10") == ["python"]
    assert parts("cifar10", "binary") == ["binary"]
    assert parts("imagenet_c") == ["noise", "blur", "weather", "digital"]
    assert parts("imagenet_c", "blur, noise.tar") == ["blur", "noise"]
    assert len(parts("imagenet_c", "*")) == 5
    with pytest.raises(GottaError, match="Did you mean 'noise'"):
        parts("imagenet_c", "noize")
    with pytest.raises(GottaError, match=r"no address.*image-net\.org"):
        parts("imagenet_val")
