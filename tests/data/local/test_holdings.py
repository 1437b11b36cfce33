"""Folders as people have them: whole, unfinished, spoiled; and none of it loaded."""

import hashlib

import numpy as np
import pytest
import torch
from PIL import Image

from gotta.data.local import holdings as module
from gotta.data.local.catalogue import catalogue, entry
from gotta.data.local.holdings import STATES, check, strangers
from gotta.data.local.make_cifar_c import make_cifar_c
from gotta.errors import GottaError
from gotta.types import CORRUPTIONS


def state(folder, name, **arguments):
    """The state and the notes of the one finding of this name."""
    (finding,) = [finding for finding in check(folder, **arguments) if finding.name == name]
    return finding.state, "; ".join(finding.notes)


def sparse_npy(path, shape, dtype="|u1"):
    """A NumPy file of full size that takes no room."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": dtype, "fortran_order": False, "shape": shape})
        file.truncate(file.tell() + int(np.prod(shape)) * np.dtype(dtype).itemsize)


@pytest.fixture
def cifar_c(tmp_path):
    folder = tmp_path / "CIFAR-10-C"
    folder.mkdir()
    for name in CORRUPTIONS:
        sparse_npy(folder / f"{name}.npy", (50_000, 32, 32, 3))
    sparse_npy(folder / "labels.npy", (50_000,))
    return folder


def imagenet_c(folder, corruptions=CORRUPTIONS, classes=2, each=1):
    for name in corruptions:
        for level in range(1, 6):
            for k in range(classes):
                place = folder / name / str(level) / f"n{k:08}"
                place.mkdir(parents=True)
                for i in range(each):
                    Image.new("RGB", (2, 2)).save(place / f"ILSVRC2012_val_{i:08}.JPEG")
    return folder


def test_an_empty_folder_lacks_everything(tmp_path):
    findings = check(tmp_path)
    assert {finding.name for finding in findings} == set(catalogue())
    assert {finding.state for finding in findings} == {"absent"}
    assert all("for " in finding.notes[0] for finding in findings)


def test_folders_that_are_none(tmp_path):
    with pytest.raises(GottaError, match="not there"):
        check(tmp_path / "nowhere")
    (tmp_path / "file").touch()
    with pytest.raises(GottaError, match="no folder"):
        check(tmp_path / "file")


def test_whole_cifar_c(cifar_c, tmp_path):
    found, notes = state(tmp_path, "cifar10_c")
    assert found == "complete"
    assert "not the official files (labels.npy: another md5)" in notes  # for they are all zeros
    assert state(cifar_c, "cifar10_c")[0] == "complete"  # pointed right at it
    assert state(cifar_c, "cifar100_c")[0] == "absent"


def test_missing_corruptions_are_named(cifar_c, tmp_path):
    for name in ("fog", "snow"):
        (cifar_c / f"{name}.npy").unlink()
    found, notes = state(tmp_path, "cifar10_c")
    assert (found, "13 of 15 corruptions; missing: snow, fog" in notes) == ("partial", True)
    (cifar_c / "labels.npy").unlink()
    assert "missing: labels.npy" in state(tmp_path, "cifar10_c")[1]


def test_cut_and_replaced_files_are_damaged(cifar_c, tmp_path):
    with (cifar_c / "fog.npy").open("r+b") as file:
        file.truncate(1_000_000)
    (cifar_c / "snow.npy").write_text("<html>not today</html>")
    found, notes = state(tmp_path, "cifar10_c")
    assert found == "damaged"
    assert "fog.npy is cut short: 1,000,000 bytes" in notes
    assert "snow.npy is a web page" in notes


@pytest.mark.parametrize(
    ("name", "shape", "dtype", "told"),
    [
        ("fog", (50_000, 3, 32, 32), "|u1", "expected uint8 of [5 x N x 32 x 32 x 3]"),
        ("fog", (50, 32, 32, 3), "<f4", "expected uint8"),
        ("fog", (10_000, 32, 32, 3), "|u1", "has 10,000 images, but there are 50,000 labels"),
        ("labels", (49_999,), "|u1", "which five severities do not divide"),
        ("labels", (50_000, 1), "|u1", "expected [5 x N]"),
    ],
)
def test_shapes_that_do_not_fit(cifar_c, tmp_path, name, shape, dtype, told):
    sparse_npy(cifar_c / f"{name}.npy", shape, dtype)
    found, notes = state(tmp_path, "cifar10_c")
    assert found == "damaged"
    assert told in notes


def test_labels_of_another_data_set(cifar_c, tmp_path):
    np.save(cifar_c / "labels.npy", np.full(50_000, 99, np.uint8))
    assert "goes up to 99, but there are 10 classes" in state(tmp_path, "cifar10_c")[1]


def test_one_spoiled_file_among_official_ones(cifar_c, tmp_path, monkeypatch):
    """Where the others have their md5, the one that has not is damaged; where none has, somebody else made them."""
    official = entry("cifar10_c").forms[0].files
    seen = dict(official)
    monkeypatch.setattr("gotta.data.local.layouts.digest", lambda path, *_: seen[path.name])
    assert state(tmp_path, "cifar10_c", full=True) == ("complete", "md5 of 16 files as listed")
    seen["fog.npy"] = "0" * 32
    found, notes = state(tmp_path, "cifar10_c", full=True)
    assert (found, notes) == ("damaged", "another md5 than listed: fog.npy")


def test_what_gotta_made_is_known_as_such(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3), np.uint8)
    make_cifar_c(images, np.arange(4), tmp_path / "cifar10-c", ["brightness"])
    found, notes = state(tmp_path, "cifar10_c", full=True)
    assert found == "partial"
    assert "made by gotta" in notes
    assert "1 of 15 corruptions" in notes
    assert "4 images per severity instead of 10,000" in notes


@pytest.mark.parametrize("grouped", [False, True])
def test_imagenet_c_is_counted(tmp_path, monkeypatch, grouped):
    form = entry("imagenet_c").forms[0]
    monkeypatch.setitem(form.__dict__, "num_classes", 2)
    monkeypatch.setitem(form.__dict__, "per_class", 1)
    root = tmp_path / "ImageNet-C"
    if grouped:
        imagenet_c(root / "noise", CORRUPTIONS[:3])
        imagenet_c(root / "blur", CORRUPTIONS[3:7])
        imagenet_c(root / "weather", CORRUPTIONS[7:11])
        imagenet_c(root / "digital", CORRUPTIONS[11:])
    else:
        imagenet_c(root)
    assert state(tmp_path, "imagenet_c", full=True) == ("complete", "")
    assert state(root, "imagenet_c")[0] == "complete"


def test_what_imagenet_c_lacks_is_named(tmp_path):
    root = imagenet_c(tmp_path / "imagenet-c", CORRUPTIONS[:14])
    (root / "fog" / "3").rename(tmp_path / "aside")
    found, notes = state(tmp_path, "imagenet_c", full=True)
    assert found == "partial"
    assert "14 of 15 corruptions; missing: jpeg_compression" in notes
    assert "missing severities: fog-3" in notes
    assert "2 of 1,000 classes" in notes
    assert "fewer than 50 images per class: gaussian_noise-1 has 2" in notes
    assert "and 65 more" in notes


def test_pages_in_place_of_images_are_damage(tmp_path):
    root = imagenet_c(tmp_path / "ImageNet-C", ["fog"])
    (root / "fog/2/n00000000/ILSVRC2012_val_00000000.JPEG").write_text("<html>")
    found, notes = state(tmp_path, "imagenet_c")
    assert found == "damaged"
    assert "fog/2/n00000000/ILSVRC2012_val_00000000.JPEG is a web page" in notes


def test_folders_of_images_by_class(tmp_path):
    place = tmp_path / "tiny-imagenet-200/train/n0000/images"
    place.mkdir(parents=True)
    Image.new("RGB", (2, 2)).save(place / "a.JPEG")
    found, notes = state(tmp_path, "tinyimagenet")
    assert (found, notes) == ("partial", "1 images in 1 folder instead of 100,000 in 200")


def test_archives_by_size_and_start(tmp_path):
    path = tmp_path / "noise.tar"
    with path.open("wb") as file:
        file.write(bytes(257) + b"ustar")
        file.truncate(22_565_673_785)
    assert state(tmp_path, "imagenet_c") == ("packed", "size as listed")
    with path.open("r+b") as file:
        file.truncate(5_000)
    assert state(tmp_path, "imagenet_c")[0] == "damaged"
    path.write_bytes(b"<!doctype html>")
    assert "web page" in state(tmp_path, "imagenet_c")[1]


def test_a_checksum_is_compared_if_asked_or_if_it_is_quick(tmp_path, monkeypatch):
    form = entry("resnet18-imagenet").forms[0]
    torch.save({"w": torch.zeros(3)}, tmp_path / form.name)
    content = (tmp_path / form.name).read_bytes()
    monkeypatch.setitem(form.__dict__, "size", len(content))
    assert state(tmp_path, "resnet18-imagenet") == ("damaged", "another sha256 than listed")
    monkeypatch.setattr(module, "QUICK", 10)
    assert state(tmp_path, "resnet18-imagenet") == ("complete", "size as listed")
    monkeypatch.setitem(form.__dict__, "sha256", hashlib.sha256(content).hexdigest())
    assert state(tmp_path, "resnet18-imagenet", full=True) == ("complete", "sha256 as listed")


def test_what_cannot_be_compared_is_said(tmp_path):
    torch.save({"state_dict": {}}, tmp_path / "Standard.pt")
    assert state(tmp_path, "wrn28-10-standard") == ("complete", "no size or checksum is known to compare with")
    (tmp_path / "Standard.pt").write_text("<html><title>Google Drive - Virus scan warning</title>")
    assert state(tmp_path, "wrn28-10-standard")[0] == "damaged"


def test_unfinished_downloads_are_seen(tmp_path):
    (tmp_path / "CIFAR-10-C.tar.part").write_bytes(b"abc")
    found, notes = state(tmp_path, "cifar10_c")
    assert found == "partial"
    assert "3 of 2,918,471,680 bytes; gotta data download cifar10_c continues it" in notes


def test_listed_files_one_by_one(tmp_path, monkeypatch):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for k in range(1, 6):
        with (folder / f"data_batch_{k}.bin").open("wb") as file:
            file.write(b"\x01")
            file.truncate(30_730_000)
    assert state(tmp_path, "cifar10") == ("partial", "missing: test_batch.bin")
    (folder / "test_batch.bin").write_bytes(b"\x01")
    assert state(tmp_path, "cifar10")[0] == "damaged"


def test_strangers_are_listed_and_not_judged(tmp_path, cifar_c):
    (tmp_path / "photos").mkdir()
    (tmp_path / ".hidden").touch()
    assert [path.name for path in strangers(tmp_path, check(tmp_path))] == ["photos"]
    assert strangers(cifar_c, check(cifar_c)) == []


def test_the_real_files_are_sound(needed):
    path = needed("gtsrb_tracks.zip")
    (found,) = [finding for finding in check(path.parent) if finding.name == "gtsrb"]
    assert found.state == "complete"
    assert found.state in STATES
