"""Downloads from a real server on this machine: what goes well, and everything that does not."""

import errno
import hashlib
from types import SimpleNamespace

import pytest
from data.small_server import serve

from gotta.data.local import download
from gotta.data.local.catalogue import Form
from gotta.data.local.download import fetch
from gotta.errors import GottaError

CONTENT = bytes(range(256)) * 12_000  # 3 MB: several pieces


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site():
    with serve() as site:
        site.content = CONTENT
        yield site


def remote(site, content=CONTENT, path="/file", **changes):
    facts = {
        "size": len(content),
        "md5": hashlib.md5(content).hexdigest(),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    return Form(("file.bin",), address=site.address + path, **{**facts, **changes})


def files(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_arrives_whole_and_leaves_nothing_beside_it(site, tmp_path):
    heard = []
    path = fetch(remote(site), tmp_path / "new" / "folder", lambda done, total: heard.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert files(path.parent) == ["file.bin"]
    assert heard[-1] == (len(CONTENT), len(CONTENT))
    assert [done for done, _ in heard] == sorted({done for done, _ in heard})
    assert "Range" not in site.asked[0]


def test_a_file_that_is_there_is_not_asked_for(site, tmp_path):
    (tmp_path / "file.bin").write_bytes(CONTENT)
    fetch(remote(site), tmp_path)
    assert site.asked == []


def test_a_wrong_file_that_is_there_is_not_overwritten(site, tmp_path):
    (tmp_path / "file.bin").write_bytes(b"<!DOCTYPE html><p>Sorry")
    with pytest.raises(GottaError, match=r"is there but is a web page.*Remove it"):
        fetch(remote(site), tmp_path)
    assert site.asked == []


def test_redirects_are_followed(site, tmp_path):
    assert fetch(remote(site, path="/moved"), tmp_path).read_bytes() == CONTENT


def test_a_dropped_connection_is_taken_up_by_itself(site, tmp_path):
    site.drop_after = [1_500_000, 700_000]
    assert fetch(remote(site), tmp_path, wait=0).read_bytes() == CONTENT
    assert [asked.get("Range") for asked in site.asked] == [None, "bytes=1500000-", "bytes=2200000-"]


def test_what_arrived_is_kept_for_the_next_call(site, tmp_path):
    site.drop_after = [1_000_000]
    with pytest.raises(GottaError, match=r"ended after 1,000,000 of 3,072,000.*1,000,000 bytes are kept.*again"):
        fetch(remote(site), tmp_path, tries=1)
    assert (tmp_path / "file.bin.part").read_bytes() == CONTENT[:1_000_000]
    assert fetch(remote(site), tmp_path, tries=1).read_bytes() == CONTENT
    assert site.asked[-1]["Range"] == "bytes=1000000-"
    assert files(tmp_path) == ["file.bin"]


def test_a_server_without_ranges_sends_it_all_again(site, tmp_path):
    site.ranges = False
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1_000_000)
    assert fetch(remote(site), tmp_path, tries=1).read_bytes() == CONTENT
    assert site.asked[0]["Range"] == "bytes=1000000-"


def test_a_part_of_another_file_is_found_out_at_the_end(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1_000_000][::-1])
    with pytest.raises(GottaError, match=r"the sha256 is .* It was removed; run the command again"):
        fetch(remote(site), tmp_path)
    assert fetch(remote(site), tmp_path).read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_is_dropped(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert fetch(remote(site), tmp_path, wait=0).read_bytes() == CONTENT


def test_a_complete_part_is_verified_without_asking(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    assert fetch(remote(site), tmp_path).read_bytes() == CONTENT
    assert site.asked == []


@pytest.mark.parametrize("announced", [True, False])
def test_a_web_page_is_rejected(site, tmp_path, announced):
    site.content = b"\n<!DOCTYPE html><html><body>Quota exceeded</body></html>"
    site.content_type = "text/html; charset=utf-8" if announced else "application/octet-stream"
    with pytest.raises(GottaError, match="web page instead of the file"):
        fetch(remote(site, site.content), tmp_path)
    assert files(tmp_path) == []


def test_a_web_page_does_not_spoil_what_was_fetched_before(site, tmp_path):
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    site.content_type = "text/html"
    with pytest.raises(GottaError, match="web page"):
        fetch(remote(site), tmp_path)
    assert (tmp_path / "file.bin.part").read_bytes() == CONTENT[:1000]


def test_another_size_is_refused_before_anything_is_fetched(site, tmp_path):
    with pytest.raises(GottaError, match=r"offers 3,072,000 bytes, expected 3,071,999"):
        fetch(remote(site, size=len(CONTENT) - 1), tmp_path)
    assert files(tmp_path) == []


def test_a_length_nobody_announces_is_checked_at_the_end(site, tmp_path):
    site.say_length = False
    assert fetch(remote(site), tmp_path).read_bytes() == CONTENT
    (tmp_path / "file.bin").unlink()
    with pytest.raises(GottaError, match="ended after 3,072,000 of 3,072,001"):
        fetch(remote(site, size=len(CONTENT) + 1), tmp_path, tries=1)


@pytest.mark.parametrize("told", [{"sha256": "00ff"}, {"sha256": "", "md5": "00ff"}])
def test_another_checksum_is_not_put_in_place(site, tmp_path, told):
    with pytest.raises(GottaError, match=rf"the {next(reversed(told))} is .*, expected 00ff\. It was removed"):
        fetch(remote(site, **told), tmp_path)
    assert files(tmp_path) == []


def test_errors_of_the_server_are_told(site, tmp_path):
    site.status = [404]
    with pytest.raises(GottaError, match="HTTP 404"):
        fetch(remote(site), tmp_path)
    site.status = [503, 503]
    assert fetch(remote(site), tmp_path, wait=0).read_bytes() == CONTENT


def test_nobody_answers(tmp_path):
    with serve() as site:
        gone = remote(site)
    with pytest.raises(GottaError, match=r"no connection to 127\.0\.0\.1:\d+: .*refused"):
        fetch(gone, tmp_path, tries=2, wait=0)


def test_too_little_room_is_told_before_fetching(site, tmp_path, monkeypatch):
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(GottaError, match=r"needs 3,072,000 more bytes, but .* has 10 free"):
        fetch(remote(site), tmp_path)
    assert files(tmp_path) == []


def test_a_disk_that_fills_up_keeps_what_is_there(site, tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    site.drop_after = [2_000_000]
    with monkeypatch.context() as patched:
        patched.setattr(download.os, "fsync", full)
        with pytest.raises(GottaError, match=r"the disk of .* is full\. 2,000,000 bytes of file\.bin are kept"):
            fetch(remote(site), tmp_path)
    assert fetch(remote(site), tmp_path).read_bytes() == CONTENT
    assert site.asked[-1]["Range"] == "bytes=2000000-"


def test_a_folder_that_cannot_be_written_is_told(site, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(GottaError, match=r"cannot write .*taken.*Choose a folder you can write to"):
        fetch(remote(site), tmp_path / "taken")
    assert site.asked == []


@pytest.mark.parametrize("algorithm", ["md5", "sha256"])
def test_a_file_that_is_there_is_checked_by_its_checksum(site, tmp_path, algorithm):
    changed = b"\1" + CONTENT[1:]
    (tmp_path / "file.bin").write_bytes(changed)
    wanted, other = hashlib.new(algorithm, CONTENT).hexdigest(), {"md5": "sha256", "sha256": "md5"}[algorithm]
    with pytest.raises(GottaError, match=rf"is there but the {algorithm} is .*, expected {wanted}. Remove it"):
        fetch(remote(site, **{other: "", algorithm: wanted}), tmp_path)
    assert (tmp_path / "file.bin").read_bytes() == changed, "it may be somebody's own"
    assert site.asked == []
    (tmp_path / "file.bin").write_bytes(CONTENT)
    assert fetch(remote(site, **{algorithm: wanted}), tmp_path)
