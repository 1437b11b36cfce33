"""Folders of images by class: order, fitting, and what is wrong with a folder."""

import numpy as np
import pytest
from PIL import Image

from gotta.data import image_folder
from gotta.errors import GottaError


def photo(path, size=(8, 8), colour=(10, 20, 30)):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def test_classes_and_files_are_sorted(tmp_path):
    for name, shade in (("dog/2.png", 2), ("dog/1.png", 1), ("ant/9.PNG", 9), ("cat/x.bmp", 5)):
        photo(tmp_path / name, colour=(shade, 0, 0))
    images, labels, classes = image_folder(str(tmp_path), 8)
    assert classes == ["ant", "cat", "dog"]
    assert labels.tolist() == [0, 1, 2, 2]
    assert labels.dtype == np.int64
    assert images[:, 0, 0, 0].tolist() == [9, 5, 1, 2]
    assert images.shape == (4, 8, 8, 3)
    assert images.dtype == np.uint8


def test_images_of_the_right_side_are_unchanged(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a" / "1.png")
    assert np.array_equal(image_folder(tmp_path, 8)[0][0], pixels)


def test_shorter_side_is_fitted_and_the_centre_kept(tmp_path):
    wide = np.zeros((4, 12, 3), np.uint8)
    wide[:, :4], wide[:, 4:8], wide[:, 8:] = 10, 20, 30
    (tmp_path / "a").mkdir()
    Image.fromarray(wide).save(tmp_path / "a" / "wide.png")
    Image.fromarray(wide.transpose(1, 0, 2)).save(tmp_path / "a" / "tall.png")
    images = image_folder(tmp_path, 4)[0]
    assert (images == 20).all()
    assert image_folder(tmp_path, 64)[0].shape == (2, 64, 64, 3)


def test_grey_palette_and_transparent_images_become_rgb(tmp_path):
    (tmp_path / "a").mkdir()
    for mode in ("L", "P", "RGBA", "1"):
        Image.new(mode, (4, 4)).save(tmp_path / "a" / f"{mode}.png")
    assert image_folder(tmp_path, 4)[0].shape == (4, 4, 4, 3)


def test_turned_photographs_are_set_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    pixels = np.zeros((4, 4, 3), np.uint8)
    pixels[:, :2] = 200
    (tmp_path / "a").mkdir()
    Image.fromarray(pixels).save(tmp_path / "a" / "1.png", exif=exif)
    upright = image_folder(tmp_path, 4)[0][0]
    assert (upright[:2] == 200).all()
    assert (upright[2:] == 0).all()


def test_hidden_folders_and_other_files_are_left_out(tmp_path):
    photo(tmp_path / "a" / "1.png")
    photo(tmp_path / ".thumbnails" / "1.png")
    (tmp_path / "a" / "notes.txt").write_text("no image")
    (tmp_path / "list.csv").write_text("a,1")
    _, labels, classes = image_folder(tmp_path, 8)
    assert classes == ["a"]
    assert len(labels) == 1


@pytest.mark.parametrize("make", ["nothing", "empty", "flat", "file"])
def test_no_images(tmp_path, make):
    root = tmp_path / "photos"
    if make == "empty":
        root.mkdir()
    elif make == "flat":
        photo(root / "1.png")
    elif make == "file":
        root.write_text("no folder")
    with pytest.raises(GottaError, match=r"no images at .*photos.* Expected .*photos/<class>/<image>"):
        image_folder(root, 8)


def test_class_without_images_is_named(tmp_path):
    photo(tmp_path / "a" / "1.png")
    (tmp_path / "b").mkdir()
    with pytest.raises(GottaError, match=r"no images in .*/b\. Fill or remove"):
        image_folder(tmp_path, 8)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".bmp", ".webp"])
@pytest.mark.parametrize("share", [0.0, 0.6])
def test_broken_image_is_named(tmp_path, suffix, share):
    photo(tmp_path / "a" / "good.png")
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), dtype=np.uint8)
    broken = tmp_path / "a" / f"broken{suffix}"
    Image.fromarray(noise).save(broken)
    broken.write_bytes(broken.read_bytes()[: int(share * broken.stat().st_size)])
    with pytest.raises(GottaError, match=rf"broken{suffix} is not a readable image"):
        image_folder(tmp_path, 8)


def test_impossible_side(tmp_path):
    photo(tmp_path / "a" / "1.png")
    with pytest.raises(GottaError, match="size must be a whole number of at least 1"):
        image_folder(tmp_path, 0)


def test_a_picture_that_starts_a_program_to_be_shown_is_no_picture(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.png").write_bytes(
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n"
    )
    with pytest.raises(GottaError, match="not a readable image"):
        image_folder(tmp_path, 8)
