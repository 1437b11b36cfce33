"""Folders and zips of images as data sets, and Tiny-ImageNet in its two layouts."""

import io
import json
import pickle

import numpy as np
import pytest
from data.image_files import by_class, decoded, encoded, noise, write, write_zip

from gotta.data import corrupt, dataset
from gotta.data.readers.pictures import noise_index
from gotta.errors import GottaError

SIZE = 16
FILES = by_class(["cat", "dog"], 3, SIZE, "PNG")


@pytest.fixture
def photos(tmp_path):
    return write(tmp_path / "photos", FILES)


def clean(root):
    return np.stack([decoded(root / name) for name in FILES])


@pytest.mark.parametrize("table", ["imagenet", "cifar"])
def test_corrupted_with_either_table(photos, table):
    data = dataset("folder", path=str(photos), size=SIZE, table=table, seed=3)
    rows = np.array([4, 1])
    assert np.array_equal(data.images("clean", rows), clean(photos)[rows])
    noise_of = noise_index([list(FILES)[row] for row in rows])
    expected = corrupt(clean(photos)[rows], "glass_blur", 4, table, 3, noise_of)
    assert np.array_equal(data.images("glass_blur-4", rows), expected)


def test_noise_belongs_to_the_image_whatever_its_company(photos, tmp_path):
    whole = dataset("folder", path=str(photos), size=SIZE).images("gaussian_noise-5", np.arange(6))
    assert not np.array_equal(whole[0] - clean(photos)[0], whole[1] - clean(photos)[1])
    packed = write_zip(tmp_path / "photos.zip", {f"inside/{name}": data for name, data in FILES.items()})
    zipped = dataset("folder", path=str(packed), size=SIZE)
    assert np.array_equal(zipped.images("gaussian_noise-5", np.array([5, 2])), whole[[5, 2]])
    (tmp_path / "list.txt").write_text("# mine\ndog/val_1.PNG\n\ncat/val_2.PNG\n")
    some = dataset("folder", path=str(photos), size=SIZE, subset=str(tmp_path / "list.txt"))
    assert some.labels.tolist() == [1, 0]
    assert np.array_equal(some.images("gaussian_noise-5", np.arange(2)), whole[[4, 2]])


def test_another_process_can_have_it(tmp_path):
    data = dataset("folder", path=str(write_zip(tmp_path / "p.zip", FILES)), size=SIZE)
    expected = data.images("fog-1", np.arange(3))
    assert np.array_equal(pickle.loads(pickle.dumps(data)).images("fog-1", np.arange(3)), expected)


def test_images_of_other_shapes_are_fitted(tmp_path):
    write(tmp_path / "p", {"a/1.png": encoded(noise(0, 40)[:30], "PNG"), "a/2.png": encoded(noise(1, 9), "PNG")})
    assert dataset("folder", path=str(tmp_path / "p"), size=SIZE).images("clean", np.arange(2)).shape == (2, 16, 16, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"size": 0}, "size must be a whole number"),
        ({"size": "big"}, "size must be a whole number"),
        ({"table": "imagnet"}, "Did you mean 'imagenet'"),
        ({"seed": -2}, "seed must be"),
        ({"subset": "./gone.txt"}, "nothing at 'gone.txt'"),
        ({"sise": 3}, "Did you mean 'size'"),
    ],
)
def test_wrong_arguments(photos, arguments, message):
    with pytest.raises(GottaError, match=message):
        dataset("folder", path=str(photos), **arguments)


def test_every_wrong_argument_is_told_at_once():
    with pytest.raises(GottaError, match=r"'sise' is unknown.*'tabel' is unknown.*needs the argument 'path'"):
        dataset("folder", sise=3, tabel="cifar")


def test_a_broken_archive(tmp_path):
    (tmp_path / "p.zip").write_bytes(b"PK no")
    with pytest.raises(GottaError, match="not a readable zip archive"):
        dataset("folder", path=str(tmp_path / "p.zip"))
    packed = write_zip(tmp_path / "q.zip", FILES)
    damaged = bytearray(packed.read_bytes())
    damaged[60:90] = bytes(30)
    packed.write_bytes(damaged)
    with pytest.raises(GottaError, match=r"cat/val_0.PNG .*(cannot be read|not a readable image)"):
        dataset("folder", path=str(packed), size=SIZE).images("clean", np.array([0]))


TINY = by_class(["n01443537", "n01629819"], 2, 64)


def test_tiny_imagenet_in_both_layouts(tmp_path, monkeypatch):
    by_wnid = write_zip(tmp_path / "tinyimagenet_val.zip", TINY)
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    ours = dataset("tinyimagenet")
    assert ours.labels.tolist() == [0, 0, 1, 1]
    assert np.array_equal(ours.images("clean", np.array([3]))[0], ours_pixels()[3])
    files = {f"val/images/{k}_{name.split('/')[1]}": data for k, (name, data) in enumerate(TINY.items())}
    lines = [f"{k}_{name.split('/')[1]}\t{name.split('/')[0]}\t0\t0\t9\t9" for k, name in enumerate(TINY)]
    files["val/val_annotations.txt"] = "\n".join(lines[::-1]).encode()
    by_wnid.unlink()
    folder = write(tmp_path / "tiny-imagenet-200", files)
    packed = write_zip(tmp_path / "t.zip", {f"tiny-imagenet-200/{name}": data for name, data in files.items()})
    for root in (folder, packed):
        published = dataset("tinyimagenet", path=str(root))
        assert published.labels.tolist() == [0, 0, 1, 1]
        assert np.array_equal(published.images("clean", np.arange(4)), ours_pixels())


def ours_pixels():
    return np.stack([decoded(io.BytesIO(data)) for data in TINY.values()])


def test_tiny_imagenet_with_the_numbers_of_imagenet(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    write_zip(tmp_path / "tinyimagenet_val.zip", TINY)
    (tmp_path / "numbers.json").write_text(json.dumps({"n01443537": 1, "n01629819": 25, "n01641577": 30}))
    data = dataset("tinyimagenet", class_index="numbers.json")
    assert data.labels.tolist() == [1, 1, 25, 25]
    assert data.num_classes == 1000
    assert np.array_equal(data.labels, dataset("tinyimagenet", class_index="imagenet1k").labels)


def test_real_tiny_imagenet(needed):
    data = dataset("tinyimagenet", path=str(needed("tinyimagenet_val.zip")))
    assert data.num_classes == 200
    assert np.bincount(data.labels).tolist() == [50] * 200
    index = needed("tinyimagenet_wnid_to_imagenet1k.json")
    numbered = dataset("tinyimagenet", path=str(data.pictures.root), class_index=str(index))
    assert numbered.num_classes == 1000
    assert len(np.unique(numbered.labels)) == 200
    rows = np.array([17, 9999])
    assert data.images("clean", rows).shape == (2, 64, 64, 3)
    assert not np.array_equal(data.images("snow-5", rows), data.images("clean", rows))
