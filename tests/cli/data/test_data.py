"""`gotta data` as a user types it; the only server is on this machine."""

import hashlib
import io
import json
import os
import sys
import tarfile

import numpy as np
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
      kind: file
      names: [noise.tar]
      part: noise
      packed: true
      into: Things
      address: {site.address}/noise.tar
      size: {len(site.content)}
      md5: {hashlib.md5(site.content).hexdigest()}"""
        facts = f"things:\n  title: Things\n  used_by: nobody\n  fetch: [noise]\n  forms:\n    -{form[6:]}\n"
        (tmp_path / "facts.yaml").write_text(facts)
        monkeypatch.setattr(catalogue, "FACTS", tmp_path / "facts.yaml")
        catalogue.catalogue.cache_clear()
        yield site
    catalogue.catalogue.cache_clear()


def test_check_says_what_is_there_and_whether_it_is_sound(home):
    assert "absent  cifar10_c" in gotta("data", "check")
    (home / "noise.tar.part").write_bytes(b"abc")
    np.save(home / "photos.npy", np.zeros(3))
    listed = gotta("data", "check")
    assert "noise.tar.part" in listed
    assert "Not known to gotta: photos.npy" in listed
    assert "1 partial" in listed
    (home / "Standard.pt").write_text("<html>")
    gotta("data", "check", code=1)
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    gotta("data", "check", elsewhere)
    gotta("data", "check", "--data-dir", elsewhere)


def test_check_for_programs(home):
    (home / "Standard.pt").write_text("<html>")
    sys.stdout.flush()
    out = io.StringIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["gotta", "data", "check", "--json", "--hash"])
        patched.setattr(sys, "stdout", out)
        from gotta.cli.__main__ import main

        with pytest.raises(SystemExit) as left:
            main()
    assert left.value.code == 1
    found = {finding["name"]: finding for finding in json.loads(out.getvalue())}
    assert found["wrn28-10-standard"]["state"] == "damaged"
    assert found["wrn28-10-standard"]["path"] == str(home / "Standard.pt")
    assert found["cifar10"]["state"] == "absent"


def test_check_of_no_folder_is_one_line(tmp_path, monkeypatch):
    assert "not there" in gotta("data", "check", tmp_path / "nowhere", code=2)
    assert "does not exist" in gotta("data", "check", "--data-dir", tmp_path / "nowhere", code=2)
    monkeypatch.delenv("GOTTA_DATA")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))
    complaint = gotta("data", "check", cwd=tmp_path, code=2)  # never the current folder by surprise
    assert "let GOTTA_DATA or --data-dir name another" in complaint


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
