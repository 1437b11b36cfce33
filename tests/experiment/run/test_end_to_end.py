"""The paper's tables from files in the published layouts to numbers, with the networks they name, untrained."""

import numpy as np
import pytest
from PIL import Image

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.run.run import run

WNIDS = ("n01440764", "n01443537", "n01484850")
DOMAINS = ("gaussian_noise", "snow")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home with a few images in the layouts of CIFAR-10-C and ImageNet-C."""
    rng = np.random.default_rng(0)
    cifar = tmp_path / "CIFAR-10-C"
    cifar.mkdir()
    np.save(cifar / "labels.npy", np.tile(np.arange(10), 5))
    for name in DOMAINS:
        np.save(cifar / f"{name}.npy", rng.integers(0, 256, (50, 32, 32, 3), np.uint8))
        for wnid in WNIDS:
            folder = tmp_path / "ImageNet-C" / name / "5" / wnid
            folder.mkdir(parents=True)
            for number in range(2):
                pixels = rng.integers(0, 256, (224, 224, 3), np.uint8)
                Image.fromarray(pixels).save(folder / f"ILSVRC2012_val_0000000{number}.JPEG")
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("recipe", "method", "images"), [("table1", "rotta", 20), ("table3", "norm", 12), ("table-vit", "rotta", 12)]
)
def test_a_cell_of_the_table_runs(home, recipe, method, images):
    over = {"model": {"weights": "random"}, "stream": {"domains": list(DOMAINS)}, "memory": {"capacity": 4}}
    specs = load_recipe(recipe).runs(seeds=[0], methods=[method], over=over)
    spec = next(spec for spec in specs if spec.memory.name == "fps")
    assert (spec.data.name, spec.model.name) in [
        ("cifar10_c", "wrn28-10"),
        ("imagenet_c", "resnet50"),
        ("imagenet_c", "vit-b16"),
    ]
    steps, summary = run(spec)
    assert sum(step["samples"] for step in steps) == images
    assert [row["name"] for row in summary["online"]["domains"]] == [f"{name}-5" for name in DOMAINS]
    assert summary["adaptations"] >= 2
    assert 0 <= summary["accuracy"] <= 100
