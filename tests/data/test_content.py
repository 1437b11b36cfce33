"""One hash for the images of a data set: it changes with the content, and is cheap to ask for again."""

import json
import os
import shutil

import numpy as np
import pytest
from PIL import Image

from gotta.data import content as module
from gotta.data import dataset
from gotta.data.content import content_hash
from gotta.data.dataset import Corrupted
from gotta.data.readers.cifar_c import CifarC
from gotta.data.sets.imagenet_c import ImageNetC


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    monkeypatch.setattr(module, "_digests", {})


@pytest.fixture
def cifar_c(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "c"
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile(np.arange(4), 5))
    for name in ("snow", "fog"):
        np.save(folder / f"{name}.npy", rng.integers(0, 255, (20, 32, 32, 3), np.uint8))
    return folder


@pytest.fixture
def tree(tmp_path):
    for row, name in enumerate(("a/0.png", "a/1.png", "b/0.png")):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8), (row, 0, 0)).save(path)
    return tmp_path / "tree"


def count_reads(monkeypatch):
    reads = []
    read = module._read_through
    monkeypatch.setattr(module, "_read_through", lambda *given: reads.append(1) or read(*given))
    return reads


def test_arrays_are_hashed_by_their_values(monkeypatch):
    images, labels = np.zeros((4, 8, 8, 3), np.uint8), np.arange(4)
    one = content_hash(Corrupted(images, labels, 4), ["fog-5"])
    assert content_hash(Corrupted(images.copy(), labels, 4), ["snow-5"]) == one
    other = images.copy()
    other[3, 7, 7, 2] = 1
    assert content_hash(Corrupted(other, labels, 4), ["fog-5"]) != one
    assert content_hash(Corrupted(images, labels[::-1], 4), ["fog-5"]) != one


def test_arrays_of_one_data_set_are_hashed_once(monkeypatch):
    data = Corrupted(np.zeros((4, 8, 8, 3), np.uint8), np.arange(4), 4)
    first = content_hash(data, ["fog-5"])
    monkeypatch.setattr(module, "_hash_array", None)
    assert content_hash(data, ["fog-5"]) == first


def test_of_files_only_those_that_are_shown_count_and_one_changed_byte_does(cifar_c):
    data = CifarC(cifar_c, 4)
    snow, fog = content_hash(data, ["snow-5"]), content_hash(data, ["fog-5"])
    assert snow != fog
    path = cifar_c / "fog.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    os.utime(path, ns=(0, 1))
    assert content_hash(data, ["snow-5"]) == snow
    assert content_hash(data, ["fog-5"]) != fog


def test_the_order_of_domains_and_the_place_on_disk_say_nothing(cifar_c, tmp_path):
    here = content_hash(CifarC(cifar_c, 4), ["snow-5", "fog-1", "snow-5"])
    shutil.copytree(cifar_c, tmp_path / "elsewhere")
    assert content_hash(CifarC(tmp_path / "elsewhere", 4), ["fog-1", "snow-5"]) == here


def test_files_are_read_once_in_a_process_and_once_by_all_who_share_a_store(cifar_c, tmp_path, monkeypatch):
    reads, kept = count_reads(monkeypatch), tmp_path / "store" / "data-hashes.json"
    first = content_hash(CifarC(cifar_c, 4), ["fog-5"], kept)
    assert content_hash(CifarC(cifar_c, 4), ["fog-5"], kept) == first
    assert len(reads) == 1
    monkeypatch.setattr(module, "_digests", {})  # another process
    assert content_hash(CifarC(cifar_c, 4), ["fog-5"], kept) == first
    assert len(reads) == 1
    os.utime(cifar_c / "fog.npy", ns=(0, 1))
    assert content_hash(CifarC(cifar_c, 4), ["fog-5"], kept) == first
    assert len(reads) == 2
    assert len(json.loads(kept.read_text())) == 2


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 3}', "[" * 100_000])
def test_a_damaged_memory_of_hashes_only_costs_time(cifar_c, tmp_path, text):
    kept = tmp_path / "kept.json"
    first = content_hash(CifarC(cifar_c, 4), ["fog-5"])
    kept.write_text(text)
    assert content_hash(CifarC(cifar_c, 4), ["fog-5"], kept) == first


def test_looking_without_remembering_writes_nothing(cifar_c, tmp_path):
    content_hash(CifarC(cifar_c, 4), ["fog-5"], tmp_path / "kept.json", remember=False)
    assert not (tmp_path / "kept.json").exists()


def test_a_folder_of_images(tree):
    data = dataset("folder", path=str(tree), size=8)
    first = content_hash(data, ["fog-5"])
    Image.new("RGB", (8, 8), (9, 9, 9)).save(tree / "b/0.png")
    assert content_hash(data, ["fog-5"]) != first


def test_imagenet_c(tree, tmp_path):
    for domain in ("fog/5", "snow/5"):
        shutil.copytree(tree, tmp_path / "inc" / domain)
    data = ImageNetC(tmp_path / "inc", size=8)
    first = content_hash(data, ["fog-5"])
    Image.new("RGB", (8, 8), (9, 9, 9)).save(tmp_path / "inc" / "snow" / "5" / "a" / "0.png")
    assert content_hash(data, ["fog-5"]) == first
    Image.new("RGB", (8, 8), (9, 9, 9)).save(tmp_path / "inc" / "fog" / "5" / "a" / "0.png")
    assert content_hash(data, ["fog-5"]) != first


def test_of_very_many_files_some_are_read_and_all_sizes_count(tree, monkeypatch):
    monkeypatch.setattr(module, "MANY", 2)
    monkeypatch.setattr(module, "READ", 60)  # so that every third or so is read
    data = dataset("folder", path=str(tree), size=8)
    first = content_hash(data, ["clean"])
    with (tree / "b/0.png").open("ab") as file:
        file.write(b"longer")
    assert content_hash(data, ["clean"]) != first


def test_video_by_name():
    video = dataset("cifar10-mini-video", frames=4)
    assert content_hash(video, ["clean"]) != content_hash(dataset("cifar10-mini-video", frames=5), ["clean"])
    assert content_hash(video, ["clean"]) == content_hash(dataset("cifar10-mini-video", frames=4), ["fog-5"])


class Users:
    """A data set of the user's that knows nothing of this."""

    __slots__ = ("labels", "value")
    domains, num_classes = ("day", "night"), 2

    def __init__(self, value):
        self.value, self.labels = value, np.array([0, 1, 0])

    def images(self, domain, indices):
        return np.full((len(indices), 4, 4, 3), self.value + (domain == "night"), np.uint8)


def test_a_data_set_that_does_not_say_what_it_consists_of_is_hashed_by_some_of_its_images():
    assert content_hash(Users(1), ["day"]) == content_hash(Users(1), ["day"])
    assert content_hash(Users(1), ["day"]) != content_hash(Users(2), ["day"])
    assert content_hash(Users(1), ["day"]) != content_hash(Users(1), ["night"])
