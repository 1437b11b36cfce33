"""Training: seeded, continued bit for bit after any interruption, and recorded."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from zlib import crc32

import numpy as np
import pytest
import torch

import gotta.train
import gotta.types
from gotta.errors import GottaError
from gotta.models import architectures, load, record
from gotta.train import Settings, accuracy_on, augment, build, checkpoint_path, learning_rate, train

pytestmark = pytest.mark.thorough

SIDE, CLASSES = 16, 3
# Two batches of 16 an epoch, and a remainder that is left out.
SETTINGS = Settings(epochs=3, batch_size=16, lr=0.05, crop=2)
KINDS = {
    "sgd": SETTINGS,
    "adamw": replace(SETTINGS, optimizer="adamw", lr=1e-3),
    "group-norm": replace(SETTINGS, architecture="resnet20-gn", smoothing=0.1),
    "vit-adamw": replace(SETTINGS, architecture="vit-mini", optimizer="adamw", lr=1e-3),
    "vit-sgd": replace(SETTINGS, architecture="vit-mini", flip=False, crop=0),
    "small-first": replace(SETTINGS, small_epochs=1, small_size=12),
}


def data(count=36, seed=0, side=SIDE):
    """Noise with a bright corner that tells the class."""
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(count) % CLASSES)
    images = rng.integers(0, 120, (count, side, side, 3), dtype=np.uint8)
    images[np.arange(count), :, :, labels] += 100
    return images, labels


def weights(path):
    return load(path).state_dict()


def equal(a, b):
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Killed(Exception):
    pass


def killing_at(epoch, step):
    def report(now):
        if (now.epoch, now.step) == (epoch, step):
            raise Killed

    return report


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The weights of each kind of training that nothing interrupted."""
    folder, made = tmp_path_factory.mktemp("undisturbed"), {}

    def of(kind):
        if kind not in made:
            out = folder / f"{kind}.safetensors"
            train(*data(), KINDS[kind], out)
            made[kind] = weights(out)
        return made[kind]

    return of


@pytest.mark.parametrize("kind", KINDS)
def test_same_seed_same_weights(tmp_path, undisturbed, kind):
    torch.manual_seed(99)  # whatever else happens in the process
    model = train(*data(), KINDS[kind], tmp_path / "again.safetensors")
    assert equal(weights(tmp_path / "again.safetensors"), undisturbed(kind))
    assert equal(model.state_dict(), undisturbed(kind))
    assert not model.training


def test_other_seed_other_weights(tmp_path, undisturbed):
    train(*data(), replace(SETTINGS, seed=1), tmp_path / "other.safetensors")
    assert not torch.equal(weights(tmp_path / "other.safetensors")["conv1.weight"], undisturbed("sgd")["conv1.weight"])


@pytest.mark.parametrize(
    ("kind", "moment"),
    [*((kind, (2, 1)) for kind in KINDS), ("sgd", (1, 1)), ("adamw", (2, 2)), ("sgd", (3, 2)), ("vit-adamw", (3, 2))],
)
def test_interrupted_and_continued_is_as_undisturbed(tmp_path, undisturbed, kind, moment):
    out = tmp_path / "net.safetensors"
    with pytest.raises(Killed):
        train(*data(), KINDS[kind], out, report=killing_at(*moment))
    assert not out.exists()
    assert checkpoint_path(out).exists() == (moment[0] > 1)
    seen = []
    train(*data(), KINDS[kind], out, report=seen.append)
    assert seen[0].epoch == moment[0], "finished epochs are not repeated"
    assert equal(weights(out), undisturbed(kind))


def test_interrupted_after_every_epoch(tmp_path, undisturbed):
    out = tmp_path / "net.safetensors"
    for epoch in (2, 3):
        with pytest.raises(Killed):
            train(*data(), SETTINGS, out, report=killing_at(epoch, 1))
    train(*data(), SETTINGS, out)
    assert equal(weights(out), undisturbed("sgd"))
    assert [entry["epoch"] for entry in record(out)["training"]["history"]] == [1, 2, 3]


def test_interrupted_between_the_last_epoch_and_the_end(tmp_path, undisturbed, monkeypatch):
    out = tmp_path / "net.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(gotta.train, "save_model", lambda *a, **k: (_ for _ in ()).throw(Killed))
        with pytest.raises(Killed):
            train(*data(), SETTINGS, out)
    assert checkpoint_path(out).exists()
    train(*data(), SETTINGS, out)
    assert equal(weights(out), undisturbed("sgd"))
    assert list(tmp_path.iterdir()) == [out]


SCRIPT = """
import json, sys, time
from pathlib import Path
import numpy as np, torch
torch.set_num_threads(1)
from gotta.train import Settings, train
folder = Path(sys.argv[1])
loaded = np.load(folder / "data.npz", allow_pickle=False)
settings = Settings(**json.loads((folder / "settings.json").read_text()))

def report(now):
    print(now.epoch, now.step, flush=True)
    if len(sys.argv) > 2:
        time.sleep(0.2)

train(loaded["images"], loaded["labels"], settings, folder / "net.safetensors", report=report)
"""


@pytest.mark.parametrize(
    ("kind", "last_line"), [("sgd", "2 1"), pytest.param("vit-adamw", "2 2", marks=pytest.mark.slow)]
)
def test_killed_process_is_continued_by_another(tmp_path, undisturbed, kind, last_line):
    """A real SIGKILL, inside an epoch and at its end, where the checkpoint is being written."""
    images, labels = data()
    np.savez(tmp_path / "data.npz", images=images, labels=labels)
    (tmp_path / "settings.json").write_text(json.dumps(asdict(KINDS[kind])))
    command = [sys.executable, "-c", SCRIPT, str(tmp_path)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen([*command, "slowly"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        for line in process.stdout:
            if line.strip() == last_line:
                break
        if last_line.endswith("2"):
            time.sleep(0.2)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "net.safetensors").exists()
    finished = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert finished.stdout.split()[0] in "23"
    assert equal(weights(tmp_path / "net.safetensors"), undisturbed(kind))


@pytest.mark.parametrize("change", [{"lr": 0.1}, {"seed": 5}, {"epochs": 4}, {"architecture": "resnet56"}])
def test_checkpoint_of_other_settings_is_refused(tmp_path, change):
    out = tmp_path / "net.safetensors"
    with pytest.raises(Killed):
        train(*data(), SETTINGS, out, report=killing_at(2, 1))
    before = checkpoint_path(out).read_bytes()
    (name, value), *_ = change.items()
    message = rf"net.checkpoint is of another training: {name}={asdict(SETTINGS)[name]}, now {value}. Remove"
    with pytest.raises(GottaError, match=message):
        train(*data(), replace(SETTINGS, **change), out)
    assert checkpoint_path(out).read_bytes() == before


def test_checkpoint_of_other_images_is_refused(tmp_path):
    out = tmp_path / "net.safetensors"
    with pytest.raises(Killed):
        train(*data(), SETTINGS, out, report=killing_at(2, 1))
    with pytest.raises(GottaError, match="other images"):
        train(*data(seed=1), SETTINGS, out)


def test_broken_checkpoint_is_named(tmp_path):
    out = tmp_path / "net.safetensors"
    checkpoint_path(out).write_bytes(b"broken")
    with pytest.raises(GottaError, match=r"net.checkpoint is not a readable safetensors file"):
        train(*data(), SETTINGS, out)


def test_record_and_nothing_else_is_left(tmp_path):
    out = tmp_path / "new" / "net.safetensors"
    images, labels = data()
    test = data(30, seed=3)
    model = train(images, labels, SETTINGS, out, test, classes=["a", "b", "c"])
    assert list(out.parent.iterdir()) == [out]
    kept = record(out)
    assert kept["architecture"] == "resnet20"
    assert kept["num_classes"] == CLASSES
    assert kept["input"] == {"size": SIDE, "mean": [0.4914, 0.4822, 0.4465], "std": [0.247, 0.2435, 0.2616]}
    training = kept["training"]
    assert training["settings"] == asdict(SETTINGS)
    assert training["images"] == 36
    assert training["environment"] == {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "threads": torch.get_num_threads(),
    }
    assert training["classes"] == ["a", "b", "c"]
    assert [entry["epoch"] for entry in training["history"]] == [1, 2, 3]
    assert training["test_images"] == 30
    assert training["test_accuracy"] == round(accuracy_on(model, *test), 3)


def test_test_images_are_looked_at_once_and_last(tmp_path, monkeypatch):
    test, events = data(30, seed=3), []
    original = gotta.train.accuracy_on
    monkeypatch.setattr(gotta.train, "accuracy_on", lambda *a: events.append("test") or original(*a))
    out = tmp_path / "with.safetensors"
    train(*data(), SETTINGS, out, test, lambda now: events.append((now.epoch, now.step)))
    assert events == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2), "test"]


def test_test_images_change_no_weight(tmp_path, undisturbed):
    train(*data(), SETTINGS, tmp_path / "with.safetensors", data(30, seed=3))
    assert equal(weights(tmp_path / "with.safetensors"), undisturbed("sgd"))


def test_no_test_images_no_test_accuracy(tmp_path):
    train(*data(), replace(SETTINGS, epochs=1), tmp_path / "net.safetensors")
    assert "test_accuracy" not in record(tmp_path / "net.safetensors")["training"]


def test_progress_counts_up_and_tells_accuracy_and_time_left(tmp_path):
    seen = []
    train(*data(), SETTINGS, tmp_path / "net.safetensors", report=seen.append)
    assert [(now.epoch, now.step) for now in seen] == [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 2)]
    assert all(now.epochs == 3 and now.steps == 2 and 0 <= now.accuracy <= 100 for now in seen)
    assert seen[0].seconds_left > 0
    assert seen[-1].seconds_left == 0


def test_it_learns(tmp_path):
    images, labels = data(96)
    settings = replace(SETTINGS, epochs=6, lr=0.1)
    model = train(images, labels, settings, tmp_path / "net.safetensors")
    assert accuracy_on(model, *data(60, seed=9)) > 80
    history = record(tmp_path / "net.safetensors")["training"]["history"]
    assert history[-1]["train_accuracy"] > history[0]["train_accuracy"]


def test_global_randomness_is_left_alone(tmp_path):
    before = torch.random.get_rng_state()
    train(*data(), replace(SETTINGS, epochs=1), tmp_path / "net.safetensors")
    assert torch.equal(torch.random.get_rng_state(), before)


def test_small_epochs_see_smaller_crops(tmp_path, monkeypatch):
    sides = []
    original = gotta.train._update
    monkeypatch.setattr(gotta.train, "_update", lambda *a: sides.append(tuple(a[2].shape[2:])) or original(*a))
    train(*data(), replace(SETTINGS, small_epochs=2, small_size=12), tmp_path / "net.safetensors")
    assert sides == [(12, 12)] * 4 + [(16, 16)] * 2


def epoch_batches(settings, epoch):
    return list(gotta.train._batches(*data(), settings, epoch))


def test_every_epoch_shuffles_and_augments_anew():
    (first, _), (second, _) = epoch_batches(SETTINGS, 0)[0], epoch_batches(SETTINGS, 1)[0]
    assert not torch.equal(first, second)
    plain = replace(SETTINGS, crop=0, flip=False)
    labels = [torch.cat([y for _, y in epoch_batches(plain, epoch)]).tolist() for epoch in range(3)]
    assert len({tuple(order) for order in labels}) == 3


def test_an_epoch_shows_each_image_at_most_once():
    images = gotta.types.torch_images(data()[0])
    shown = torch.cat([x for x, _ in epoch_batches(replace(SETTINGS, crop=0, flip=False), 0)])
    rows = [int((images == x).flatten(1).all(1).nonzero().item()) for x in shown]
    assert len(set(rows)) == len(rows) == 32


def test_pinned_batches():
    """The bundled networks can be trained again only as long as these stay."""
    pixels = b"".join(
        (255 * x).round().to(torch.uint8).contiguous().numpy().tobytes() + y.numpy().astype("<i8").tobytes()
        for epoch in (0, 2)
        for x, y in epoch_batches(KINDS["small-first"], epoch)
    )
    assert crc32(pixels) == 3662929422


def test_convolutions_are_trained_in_channels_last():
    model = build(SETTINGS, CLASSES)
    assert model.layer1[0].conv1.weight.is_contiguous(memory_format=torch.channels_last)


def test_network_is_built_for_the_side_of_the_images():
    settings = replace(SETTINGS, architecture="vit-mini")
    assert build(settings, CLASSES, 64).pos_embed.shape[1] == 65
    assert build(settings, CLASSES, 64).input.size == 64
    default = architectures.build("resnet20").input
    assert build(SETTINGS, 10, 32).input == default


def test_crops_come_from_the_reflected_image():
    image = np.arange(16, dtype=np.uint8).reshape(1, 4, 4, 1).repeat(3, axis=3)
    padded = np.pad(image[0], ((2, 2), (2, 2), (0, 0)), mode="reflect")
    windows = [padded[i : i + 4, j : j + 4] for i in range(5) for j in range(5)]
    crops = augment(image.repeat(300, axis=0), 4, 2, False, np.random.default_rng(0))
    found = {next(i for i, window in enumerate(windows) if np.array_equal(window, crop)) for crop in crops}
    assert found == set(range(25))


def test_half_of_the_images_are_flipped():
    image = np.arange(48, dtype=np.uint8).reshape(1, 4, 4, 3)
    flipped = augment(image.repeat(1000, axis=0), 4, 0, True, np.random.default_rng(0))
    turned = [np.array_equal(crop, image[0, :, ::-1]) for crop in flipped]
    same = [np.array_equal(crop, image[0]) for crop in flipped]
    assert all(a != b for a, b in zip(turned, same, strict=True))
    assert 430 < sum(turned) < 570
    assert np.array_equal(augment(image, 4, 0, False, np.random.default_rng(0)), image)


def test_learning_rate_rises_and_falls_linearly():
    settings = Settings(lr=1.0, warmup=0.2)
    rates = [learning_rate(settings, step, 10) for step in range(10)]
    assert rates == pytest.approx([0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125])
    assert learning_rate(replace(settings, warmup=0.0), 0, 10) == 1.0


def test_weight_decay_acts_on_matrices_and_kernels_only():
    model = build(SETTINGS, CLASSES)
    decayed, free = gotta.train.make_optimizer(model, SETTINGS).param_groups
    assert decayed["weight_decay"] == SETTINGS.weight_decay
    assert free["weight_decay"] == 0
    assert {p.ndim for p in decayed["params"]} == {2, 4}
    assert {p.ndim for p in free["params"]} == {1}
    assert len(decayed["params"]) + len(free["params"]) == len(list(model.parameters()))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"batch_size": 37}, "36 images do not fill a batch of 37"),
        ({"epochs": 0}, "epochs=0, expected greater than or equal to 1"),
        ({"batch_size": 0}, "batch_size=0"),
        ({"optimizer": "adam"}, "optimizer=adam, expected sgd or adamw"),
        ({"lr": float("nan")}, "lr=nan"),
        ({"warmup": 1.0}, "warmup=1.0"),
        ({"seed": -1}, "seed=-1"),
        ({"small_epochs": 4}, "small_epochs=4, expected 0 to epochs"),
        ({"small_epochs": 1, "small_size": 21}, r"small_size=21, expected at most side \+ 2 crop = 20"),
        ({"epochs": 0, "lr": -1.0}, "epochs=0, .*; lr=-1.0"),
        ({"architecture": "resnett20"}, "'resnett20' is unknown. Did you mean 'resnet20'"),
        ({"architecture": "vit-mini", "small_epochs": 1, "small_size": 12}, "images are 12 x 12.*takes 16 x 16"),
    ],
)
def test_settings_that_cannot_be(tmp_path, change, message):
    with pytest.raises(GottaError, match=message):
        train(*data(), replace(SETTINGS, **change), tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())


def test_images_that_cannot_be(tmp_path):
    images, labels = data()
    out = tmp_path / "net.safetensors"
    for bad, message in [
        ((images.astype(np.float32), labels), "images are float32"),
        ((images[:, :, :8], labels), r"Expected square uint8"),
        ((images[:5], labels), "5 images and labels of shape"),
        ((images, labels - 1), "labels go from -1 to 1, expected 0 to 1"),
        ((images[:0], labels[:0]), "0 images do not fill a batch"),
    ]:
        with pytest.raises(GottaError, match=message):
            train(*bad, SETTINGS, out)
    with pytest.raises(GottaError, match="labels go from 0 to 2, expected 0 to 1"):
        train(images, labels, SETTINGS, out, classes=["a", "b"])
    with pytest.raises(GottaError, match=r"test images are \[32, 32, 3\]"):
        train(images, labels, SETTINGS, out, data(side=32))
    assert not list(tmp_path.iterdir())


def test_unwritable_place_is_found_before_training(tmp_path):
    (tmp_path / "folder").write_text("a file")
    with pytest.raises(GottaError, match="cannot write"):
        train(*data(), SETTINGS, tmp_path / "folder" / "net.safetensors", report=killing_at(1, 1))


def test_divergence_ends_the_training(tmp_path):
    out = tmp_path / "net.safetensors"
    with pytest.raises(GottaError, match=r"weights became infinite in epoch 1. Use a smaller lr than 1e\+30"):
        train(*data(), replace(SETTINGS, lr=1e30), out)
    assert not list(tmp_path.iterdir())
