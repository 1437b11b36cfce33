"""Data sets that people have already: torch's, Hugging Face's, and files of numpy's."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import TensorDataset

from gotta import GottaError
from gotta.data import dataset, from_huggingface, from_torch
from gotta.data.readers.items import Items, to_pixels
from gotta.streams import Stream, StreamSpec

PIXELS = np.random.default_rng(0).integers(0, 256, (12, 32, 32, 3), np.uint8)
LABELS = np.arange(12) % 3


def as_tensors():
    return TensorDataset(torch.from_numpy(PIXELS).permute(0, 3, 1, 2) / 255, torch.from_numpy(LABELS))


def test_a_torch_dataset_is_a_stream():
    data = from_torch(as_tensors())
    assert (data.num_classes, data.labels.tolist()) == (3, LABELS.tolist())
    assert (data.images("clean", np.array([5, 2])) == PIXELS[[5, 2]]).all(), "bytes come back as they were"
    alone, together = data.images("snow-3", np.array([4])), data.images("snow-3", np.arange(12))
    assert (alone[0] == together[4]).all(), "noise depends on the image alone"
    stream = Stream(data, StreamSpec.of(domains=["snow"], batch_size=4))
    assert sum(len(step.x) for step in stream) == 12
    other = data.redrawn(1).images("gaussian_noise-3", np.arange(2))
    assert (other != data.images("gaussian_noise-3", np.arange(2))).any()


class Pictures:
    targets = (0, 1)

    def __len__(self):
        return 2

    def __getitem__(self, row):
        return Image.fromarray(PIXELS[row, :, : 16 + 16 * row]), self.targets[row]


def test_pictures_of_several_sizes_are_refused_together():
    data = from_torch(Pictures())
    assert data.images("clean", np.array([1])).shape == (1, 32, 32, 3)
    with pytest.raises(GottaError, match="different sizes"):
        data.images("clean", np.arange(2))


@pytest.mark.parametrize(
    ("image", "shape"), [(np.zeros((4, 5), np.uint8), (4, 5, 3)), (torch.ones(1, 4, 5), (4, 5, 3))]
)
def test_grey_images_are_shown_in_three_channels(image, shape):
    assert to_pixels(image).shape == shape


def test_normalised_or_odd_images_are_refused():
    with pytest.raises(GottaError, match="leave normalisation to the network"):
        to_pixels(torch.randn(3, 8, 8) * 3)
    with pytest.raises(GottaError, match=r"Expected \[H, W\], \[H, W, 3\]"):
        to_pixels(np.zeros((2, 3, 4, 5), np.uint8))
    with pytest.raises(GottaError, match="Expected 0 to 1"):
        Items(lambda row: None, [0, 2], num_classes=2)


def test_a_data_set_of_hugging_face():
    library = pytest.importorskip("datasets")
    features = library.Features({"img": library.Image(), "label": library.ClassLabel(names=list("abcd"))})
    rows = {"img": [Image.fromarray(image) for image in PIXELS], "label": LABELS.tolist()}
    data = from_huggingface(library.Dataset.from_dict(rows, features=features), image="img")
    assert data.num_classes == 4
    assert (data.images("clean", np.arange(12)) == PIXELS).all()
    with pytest.raises(GottaError, match=r"no column 'image'. It has img, label"):
        from_huggingface(library.Dataset.from_dict(rows, features=features))


def test_an_npz_is_a_data_set(tmp_path):
    np.savez(tmp_path / "mine.npz", images=PIXELS, labels=LABELS)
    data = dataset("npz", path=str(tmp_path / "mine.npz"))
    assert data.num_classes == 3
    assert (data.images("clean", np.arange(12)) == PIXELS).all()
    np.savez(tmp_path / "wrong.npz", images=PIXELS / 255, labels=LABELS)
    with pytest.raises(GottaError, match=r"images float64\[12, 32, 32, 3\]"):
        dataset("npz", path=str(tmp_path / "wrong.npz"))
    (tmp_path / "none.npz").write_text("x")
    with pytest.raises(GottaError, match="cannot be used"):
        dataset("npz", path=str(tmp_path / "none.npz"))
