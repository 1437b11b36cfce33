"""ImageNet-C in its published layout, made by the tests and by `make_imagenet_c`."""

import json
import shutil
from multiprocessing import get_context

import numpy as np
import pytest
from data.image_files import by_class, decoded, encoded, noise, write, write_zip

from gotta.data import corrupt, dataset
from gotta.data.classes import wnids
from gotta.data.local.make_imagenet_c import make_imagenet_c
from gotta.data.readers.pictures import noise_index
from gotta.data.sets.imagenet_c import ImageNetC
from gotta.errors import GottaError
from gotta.streams import Stream, StreamSpec

CLASSES = ["n01440764", "n02102040", "n03888257"]
SIZE = 24
DOMAINS = ["gaussian_noise/5", "snow/1", "snow/5", "saturate/5", "my_own/3"]


def published(root, groups=False):
    """Images whose colours tell the domain."""
    for at, domain in enumerate(DOMAINS):
        files = {name: noise(100 * at + k, SIZE) for k, name in enumerate(by_class(CLASSES, 2, SIZE))}
        group = ["noise", "weather", "weather", "extra", "digital"][at] if groups else "."
        write(root / group / domain, {name: encoded(pixels) for name, pixels in files.items()})
    return root


@pytest.fixture
def root(tmp_path):
    return published(tmp_path / "ImageNet-C")


@pytest.mark.parametrize("groups", [False, True])
def test_every_image_as_its_file_decodes(tmp_path, groups):
    root = published(tmp_path / "ImageNet-C", groups)
    data = dataset("imagenet_c", path=str(root), size=SIZE)
    assert list(data.domains) == ["gaussian_noise-5", "snow-1", "snow-5", "saturate-5", "my_own-3"]
    assert data.labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert data.num_classes == 3
    rows = np.array([5, 0, 3])
    names = [f"{CLASSES[2]}/val_1.JPEG", f"{CLASSES[0]}/val_0.JPEG", f"{CLASSES[1]}/val_1.JPEG"]
    folder = root / "weather" if groups else root
    expected = np.stack([decoded(folder / "snow" / "5" / name) for name in names])
    assert np.array_equal(data.images("snow-5", rows), expected)


def test_found_in_the_data_home(root, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(root.parent))
    assert len(dataset("imagenet_c", size=SIZE).labels) == 6


def test_other_sizes_are_told_and_never_resized(root):
    with pytest.raises(GottaError, match=r"has 24 x 24 pixels. Expected 224 x 224.*give the size=..."):
        ImageNetC(root).images("snow-5", np.array([0]))


def test_a_named_subset_is_a_list_in_the_data_home(root, tmp_path, monkeypatch):
    listed = [f"{CLASSES[2]}/val_0.JPEG", f"{CLASSES[0]}/val_1.JPEG"]
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    with pytest.raises(GottaError, match=r"robustbench-5k.txt or imagenet_test_image_ids.txt"):
        ImageNetC(root, "robustbench-5k", SIZE)
    (tmp_path / "imagenet_test_image_ids.txt").write_text("\n".join(listed) + "\n")
    data = ImageNetC(root, "robustbench-5k", SIZE)
    assert data.labels.tolist() == [2, 0]  # the list's sequence; classes as in the whole
    assert data.num_classes == 3
    assert np.array_equal(data.images("snow-1", np.array([0]))[0], decoded(root / "snow" / "1" / listed[0]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        (f"{CLASSES[0]}/val_9.JPEG", r"names n01440764/val_9.JPEG \(1 in all\), which is not there"),
        (f"{CLASSES[0]}/val_0.JPEG\n" * 2, "names an image twice"),
    ],
)
def test_lists_that_do_not_fit(root, tmp_path, text, message):
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(GottaError, match=message):
        ImageNetC(root, str(tmp_path / "list.txt"), SIZE)


def test_class_numbers_of_the_thousand(root, tmp_path):
    data = ImageNetC(root, size=SIZE, class_index="imagenet1k")
    assert data.num_classes == 1000
    assert data.labels.tolist() == [wnids().index(name) for name in CLASSES for _ in range(2)]
    own = tmp_path / "index.json"
    own.write_text(json.dumps({name: 2 * k for k, name in enumerate(CLASSES)}))
    assert ImageNetC(root, size=SIZE, class_index=str(own)).labels.tolist() == [0, 0, 2, 2, 4, 4]


def test_a_complete_imagenet_needs_no_list(tmp_path):
    assert wnids() == sorted(wnids())
    assert len(set(wnids())) == 1000
    tiny = encoded(noise(0, 8), "PNG")
    write(tmp_path / "fog" / "3", {f"{wnid}/a.png": tiny for wnid in wnids()})
    data = ImageNetC(tmp_path, size=8)
    assert data.num_classes == 1000
    assert data.labels.tolist() == list(range(1000))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not readable JSON"),
        ("[1]", "number of its own"),
        ('{"a": 0, "b": 0}', "number of its own"),
        ('{"a": 0}', "has no n01440764"),
    ],
)
def test_class_indices_that_do_not_fit(root, tmp_path, content, message):
    (tmp_path / "index.json").write_text(content)
    with pytest.raises(GottaError, match=message):
        ImageNetC(root, size=SIZE, class_index=str(tmp_path / "index.json"))


def test_too_few_classes_asked_for(root):
    with pytest.raises(GottaError, match="num_classes=2, but a class has number 2"):
        ImageNetC(root, size=SIZE, num_classes=2)


def test_an_incomplete_domain_is_told_before_a_run(root):
    shutil.rmtree(root / "gaussian_noise" / "5" / CLASSES[1])
    data = ImageNetC(root, size=SIZE)
    assert len(data.labels) == 6
    assert len(Stream(data, StreamSpec(domains="snow")).label) == 6
    with pytest.raises(GottaError, match=r"has 2 of 3 classes: no n02102040.*leave out gaussian_noise-5"):
        Stream(data, StreamSpec(domains="snow,gaussian_noise"))


def test_damaged_and_missing_images_are_named(root):
    data = ImageNetC(root, size=SIZE)
    path = root / "snow" / "5" / CLASSES[0] / "val_0.JPEG"
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(GottaError, match=r"snow/5/n01440764/val_0.JPEG is not a readable image"):
        data.images("snow-5", np.array([0]))
    path.unlink()
    with pytest.raises(GottaError, match=r"no '.*val_0.JPEG', which other domains have"):
        data.images("snow-5", np.array([0]))


def test_no_corruptions(tmp_path):
    write(tmp_path, {"cat/1.png": encoded(noise(0, 8), "PNG")})
    with pytest.raises(GottaError, match=r"no corruptions in .*gaussian_noise/5/<wnid>"):
        ImageNetC(tmp_path)


def test_unknown_domain(root):
    with pytest.raises(GottaError, match=r"domain 'snow-2' is unknown"):
        ImageNetC(root, size=SIZE).images("snow-2", np.array([0]))


FILES = by_class(CLASSES[:2], 3, SIZE)


def test_png_gives_back_the_corrupted_pixels(tmp_path):
    source = write_zip(tmp_path / "clean.zip", FILES)
    out = make_imagenet_c(source, tmp_path / "out", ("fog", "shot_noise"), (2, 5), SIZE, format="png", seed=4)
    data = ImageNetC(out, size=SIZE)
    clean = np.stack([decoded(write(tmp_path / "clean", FILES) / name) for name in FILES])
    for domain in ("fog-2", "shot_noise-5"):
        name, severity = domain.split("-")
        expected = corrupt(clean, name, int(severity), "imagenet", 4, noise_index(list(FILES)))
        assert np.array_equal(data.images(domain, np.arange(6)), expected)


def test_jpeg_is_read_as_any_reader_would(tmp_path):
    source = write(tmp_path / "clean", FILES)
    out = make_imagenet_c(source, tmp_path / "out", ("contrast",), (1,), SIZE)
    files = sorted((out / "contrast" / "1").glob("*/*.JPEG"))
    assert [str(path.relative_to(out / "contrast" / "1")) for path in files] == sorted(FILES)
    assert np.array_equal(ImageNetC(out, size=SIZE).images("contrast-1", np.arange(6)), [decoded(f) for f in files])
    on_the_fly = dataset("folder", path=str(source), size=SIZE).images("contrast-1", np.arange(6))
    assert 0 < np.abs(on_the_fly.astype(int) - ImageNetC(out, size=SIZE).images("contrast-1", np.arange(6))).mean() < 8


def test_a_source_of_another_size_is_cut_as_published(tmp_path):
    write(tmp_path / "clean", {"a/1.png": encoded(noise(1, 64), "PNG")})
    out = make_imagenet_c(tmp_path / "clean", tmp_path / "out", ("brightness",), (1,), 28, format="png")
    resized = dataset("folder", path=str(tmp_path / "clean"), size=28, resize=32)
    assert np.array_equal(ImageNetC(out, size=28).images("brightness-1", [0]), resized.images("brightness-1", [0]))


def tree(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_an_interrupted_call_is_taken_up(tmp_path):
    class Stopped(Exception):
        pass

    def stop(done, total):
        if done >= 6:
            raise Stopped

    source = write(tmp_path / "clean", FILES)
    arguments = ("fog", "frost"), (3,), SIZE
    with pytest.raises(Stopped):
        make_imagenet_c(source, tmp_path / "out", *arguments, progress=stop)
    kept = tmp_path / "out" / "fog" / "3" / CLASSES[0] / "val_0.JPEG"
    first = kept.stat().st_mtime_ns
    (tmp_path / "out" / "frost" / "3" / f".{CLASSES[0]}.part").mkdir(parents=True)  # as a kill leaves it
    seen = []
    make_imagenet_c(source, tmp_path / "out", *arguments, progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (6, 12)
    assert seen[-1] == (12, 12)
    assert kept.stat().st_mtime_ns == first
    assert tree(tmp_path / "out") == tree(make_imagenet_c(source, tmp_path / "fresh", *arguments))
    assert not list((tmp_path / "out").rglob("*.part"))


@pytest.mark.thorough
def test_workers_do_not_change_the_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr("gotta.workers.get_context", lambda _: get_context("fork"))  # spawned ones would import torch
    source = write_zip(tmp_path / "clean.zip", FILES)
    alone = make_imagenet_c(source, tmp_path / "one", ("contrast", "shot_noise"), (5,), SIZE)
    assert tree(make_imagenet_c(source, tmp_path / "two", ("contrast", "shot_noise"), (5,), SIZE, workers=2)) == tree(
        alone
    )


def test_what_was_made_otherwise_is_never_overwritten(tmp_path):
    source = write(tmp_path / "clean", FILES)
    out = make_imagenet_c(source, tmp_path / "out", ("fog",), (1,), SIZE)
    before = tree(out)
    with pytest.raises(GottaError, match="made with another seed"):
        make_imagenet_c(source, out, ("fog",), (1,), SIZE, seed=1)
    with pytest.raises(GottaError, match="another format"):
        make_imagenet_c(source, out, ("fog",), (2,), SIZE, format="png")
    (out / "fog" / "1" / CLASSES[0] / "val_1.JPEG").rename(out / "fog" / "1" / CLASSES[0] / "other.JPEG")
    with pytest.raises(GottaError, match="holds other files"):
        make_imagenet_c(source, out, ("fog",), (1,), SIZE)
    assert len(tree(out)) == len(before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"corruptions": ("fgo",)}, "Did you mean 'fog'"),
        ({"severities": (6,)}, "severity must be"),
        ({"format": "jpg"}, "Did you mean 'jpeg'"),
        ({"workers": 0}, "at least 1"),
        ({"size": 0}, "size must be a whole number"),
        ({"resize": 8}, "resize=8 leaves no square"),
        ({"seed": -1}, "seed"),
    ],
)
def test_mistakes_are_named_before_anything_is_written(tmp_path, change, message):
    source = write(tmp_path / "clean", {"a/1.png": encoded(noise(1, 64), "PNG")})
    with pytest.raises(GottaError, match=message):
        make_imagenet_c(**({"source": source, "out_dir": tmp_path / "out", "size": SIZE} | change))
    assert not (tmp_path / "out").exists()


@pytest.mark.thorough
def test_real_validation_images_come_back(needed, tmp_path):
    source = needed("imagenet_val500.zip")
    real = dataset("folder", path=str(source))
    assert len(real.labels) == 500
    picked = np.arange(0, 500, 125)
    names = [real.pictures.names[row] for row in picked]
    few = write(tmp_path / "few", {name: real.pictures.data(row) for name, row in zip(names, picked, strict=True)})
    out = make_imagenet_c(few, tmp_path / "out", ("jpeg_compression",), (5,), format="png")
    made = ImageNetC(out)
    # The noise and the pixels of an image are its own, whatever else lies in its folder or zip.
    assert np.array_equal(made.images("jpeg_compression-5", np.arange(4)), real.images("jpeg_compression-5", picked))
