"""`gotta data` as a user types it; the only server is on this machine."""

import hashlib
import io
import os
import sys
import tarfile

import pytest
from cli.shell import gotta
from data.small_server import serve
from PIL import Image

from gotta.data.local import catalogue


@pytest.fixture(autouse=True)
def as_in_a_shell(monkeypatch, tmp_path):
    for name, value in {"COLUMNS": "140", "NO_COLOR": "1", "GOTTA_DATA": str(tmp_path / "home")}.items():
        monkeypatch.setenv(name, value)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


@pytest.fixture
def home(as_in_a_shell):
    return as_in_a_shell


@pytest.fixture
def site(monkeypatch, tmp_path):
    """A server with one archive, and a catalogue that knows it."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        entry = tarfile.TarInfo("fog/1/x")
        entry.size = 20_000
        archive.addfile(entry, io.BytesIO(bytes(20_000)))
    with serve() as site:
        site.content = made.getvalue()
        form = f"""
      names: [noise.tar]
      part: noise
      packed: true
      into: Things
      address: {site.address}/noise.tar
      size: {len(site.content)}
      md5: {hashlib.md5(site.content).hexdigest()}"""
        facts = f"things:\n  title: Things\n  fetch: [noise]\n  forms:\n    -{form[6:]}\n"
        (tmp_path / "facts.yaml").write_text(facts)
        monkeypatch.setattr(catalogue, "FACTS", tmp_path / "facts.yaml")
        catalogue.catalogue.cache_clear()
        yield site
    catalogue.catalogue.cache_clear()


def test_the_list_says_what_is_there(home):
    assert "there" not in gotta("data", "download")
    (home / "CIFAR-10-C").mkdir()
    there = [line.split()[0] for line in gotta("data", "download").splitlines() if " there " in line]
    assert there == ["cifar10_c"]


def test_download_fetches_verifies_and_unpacks(site, home):
    told = gotta("data", "download", "things", "--dry-run")
    assert "Things: 1 file, 30.7 kB" in told
    assert site.asked == []
    told = gotta("data", "download", "things", "--unpack")
    assert (home / "noise.tar").read_bytes() == site.content
    assert (home / "Things/fog/1/x").stat().st_size == 20_000
    assert "Fetched and verified" in told
    assert "unpacked already" in gotta("data", "download", "things", "--unpack")
    again = gotta("data", "download", "things")
    assert "There already" in again
    assert "--unpack" in again
    assert len(site.asked) == 1


def test_download_makes_the_folder_it_is_told(site, tmp_path):
    gotta("data", "download", "things", "--data-dir", tmp_path / "new")
    assert (tmp_path / "new/noise.tar").exists()
    assert os.environ["GOTTA_DATA"] == str(tmp_path / "home")  # the option holds for the command only


def test_download_tells_what_went_wrong_in_one_line(site, home):
    site.content_type = "text/html"
    complaint = gotta("data", "download", "things", code=2)
    assert "web page" in complaint
    assert complaint.count("\n") == 1
    assert list(home.iterdir()) == []
    assert "Did you mean 'things'" in gotta("data", "download", "thing", code=2)
    assert "Did you mean 'noise'" in gotta("data", "download", "things", "--only", "noize", code=2)


def test_download_without_a_name_lists(site):
    assert "things" in gotta("data", "download")
    assert site.asked == []


def test_show_draws_classes_domains_and_streams(tmp_path):
    sizes = {}
    for name, arguments in {
        "classes": ["cifar10-mini"],
        "domains": ["cifar10-mini", "--domain", "brightness-*"],
        "stream": ["order=sorted", "per_class=5", "domain_order=fog,contrast"],
    }.items():
        told = gotta("data", "show", *arguments, "--columns", 3, "--rows", 4, "--out", tmp_path / f"{name}.png")
        assert f"{name}.png" in told
        with Image.open(tmp_path / f"{name}.png") as image:
            sizes[name] = image.size
    assert len(set(sizes.values())) == 3
    assert "2 batches" in told


def test_show_helps_with_mistakes(tmp_path):
    assert "Did you mean 'cifar10-mini'" in gotta("data", "show", "cifar10-mimi", code=2)
    assert "Did you mean 'snow-5'" in gotta("data", "show", "--domain", "snow-6", code=2)
    assert "Did you mean 'gamma'" in gotta("data", "show", "cifar10-mini", "gama=1", code=2)
    assert "cannot be written" in gotta("data", "show", "--out", tmp_path / "no" / "a.png", code=2)
