"""`gotta train` as a user types it."""

import os
import pty
import re
import select
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
import torch
from cli.shell import gotta
from data.cifar_files import make_batches, python_files, write_folder
from data.video_files import write_sheets, write_tracks
from PIL import Image
from typer.testing import CliRunner

from gotta.cli.__main__ import app
from gotta.cli.commands.train import parse_settings
from gotta.data import image_folder
from gotta.errors import GottaError
from gotta.models import load, record
from gotta.train import Settings, checkpoint_path, train

QUICK = ("-s", "epochs=2", "-s", "batch_size=8", "-s", "lr=5e-2")


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos", ("ant", "bee", "cat"))


def write_photos(root, classes, count=6):
    rng = np.random.default_rng(len(root.name))
    for shade, name in enumerate(classes):
        (root / name).mkdir(parents=True)
        for i in range(count):
            pixels = rng.integers(0, 80, (20, 24, 3), dtype=np.uint8) + np.uint8(60 * shade)
            Image.fromarray(pixels).save(root / name / f"{i}.png")
    return root


def gotta_train(*arguments):
    """The command in this process: what it printed, and its error if it had one."""
    threads, setting = torch.get_num_threads(), os.environ.get("OMP_NUM_THREADS")
    try:
        result = CliRunner().invoke(app, ["train", *map(str, arguments)])
    finally:
        torch.set_num_threads(threads)
        os.environ.update({"OMP_NUM_THREADS": setting} if setting else {})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_folder_of_images(tmp_path, photos):
    out = tmp_path / "mine.safetensors"
    printed = gotta_train("resnet20", "--data", photos, "--out", out, "--size", 16, *QUICK)
    assert "18 images of 3 classes" in printed
    assert re.search(r"epoch 1/2 .*training accuracy \d+\.\d+ %.* left", printed)
    assert re.search(r"epoch 2/2 .*training accuracy \d+\.\d+ %.* left", printed)
    assert f"Written: {out}" in printed.replace("\n", "")
    model, kept = load(out), record(out)
    assert model.num_classes == 3
    assert model.input.size == 16
    assert kept["training"]["classes"] == ["ant", "bee", "cat"]
    assert kept["training"]["settings"]["lr"] == 0.05
    assert not checkpoint_path(out).exists()


def test_command_trains_as_the_function_does(tmp_path, photos):
    gotta_train("resnet20", "--data", photos, "--out", tmp_path / "a.safetensors", "--size", 16, *QUICK)
    images, labels, classes = image_folder(photos, 16)
    settings = Settings(epochs=2, batch_size=8, lr=0.05)
    model = train(images, labels, settings, tmp_path / "b.safetensors", classes=classes)
    state = load(tmp_path / "a.safetensors").state_dict()
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_transformer_is_built_for_the_side_asked_for(tmp_path, photos):
    out = tmp_path / "vit.safetensors"
    gotta_train("vit-mini", "--data", photos, "--out", out, "--size", 24, *QUICK, "-s", "optimizer=adamw")
    assert load(out)(torch.rand(1, 3, 24, 24)).shape == (1, 3)


def test_test_folder_is_for_the_record(tmp_path, photos):
    out = tmp_path / "mine.safetensors"
    test = write_photos(tmp_path / "held-out", ("ant", "bee", "cat"), count=3)
    printed = gotta_train("resnet20", "--data", photos, "--test", test, "--out", out, *QUICK, "--size", 16)
    training = record(out)["training"]
    assert training["test_images"] == 9
    assert f"{training['test_accuracy']:.2f} % of 9 test images right" in printed.replace("\n", " ")


def test_cifar_in_the_authors_layout(tmp_path):
    folder = write_folder(tmp_path / "cifar-10-batches-py", python_files(make_batches(rows=4)))
    out = tmp_path / "net.safetensors"
    printed = gotta_train("resnet20", "--data", folder, "--out", out, *QUICK)
    assert "20 images of 10 classes" in printed
    training = record(out)["training"]
    assert training["images"] == 20
    assert training["test_images"] == 4
    assert training["classes"][3] == "cat"
    assert load(out).num_classes == 10


def test_finished_training_is_not_repeated_nor_overwritten(tmp_path, photos):
    out = tmp_path / "mine.safetensors"
    command = ("resnet20", "--data", photos, "--out", out, "--size", 16, *QUICK)
    gotta_train(*command)
    before = out.stat()
    assert "Trained already" in gotta_train(*command)
    with pytest.raises(GottaError, match="was not trained with these settings"):
        gotta_train(*command, "-s", "seed=1")
    assert out.stat().st_mtime_ns == before.st_mtime_ns


def test_interruption_says_how_to_go_on(tmp_path, photos, monkeypatch):
    out = tmp_path / "mine.safetensors"
    command = ["train", "resnet20", "--data", str(photos), "--out", str(out), "--size", "16", *QUICK]

    def interrupted(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gotta.train._save_checkpoint", interrupted)
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 130
    assert "the same command goes on" in result.output
    assert not out.exists()
    gotta_train(*command[1:])
    assert out.exists()


def test_every_setting_is_in_the_help_with_its_default():
    shown = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).output
    for name, value in asdict(Settings()).items():
        if name != "architecture":
            text = str(value).lower() if isinstance(value, bool) else str(value)
            assert f"{name}={text}" in shown, name


def test_settings_are_read_as_their_types():
    texts = ["epochs=3", "lr=1e-3", "flip=no", "optimizer=adamw", "smoothing=0", "weight_decay=.1"]
    settings = parse_settings("vit-mini", texts)
    assert settings == Settings("vit-mini", epochs=3, lr=0.001, flip=False, optimizer="adamw", weight_decay=0.1)
    assert isinstance(settings.smoothing, float)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["epoch=3"], r"training setting 'epoch' is unknown. Did you mean 'epochs'\?"),
        (["epochs"], "'epochs' is not a setting. Expected name=value"),
        (["epochs=many"], "epochs=many, expected a valid integer"),
        (["epochs=1.5"], "epochs=1.5, expected a valid integer"),
        (["lr=fast"], "lr=fast, expected a valid number"),
        (["flip=perhaps"], "flip=perhaps, expected a valid boolean"),
        (["architecture=resnet56"], "'architecture=resnet56' is not a setting"),
        (["lr=fast", "sed=1", "epochs=0"], "epochs=0, expected.*lr=fast, expected a valid number.*'sed' is unknown"),
    ],
)
def test_settings_that_cannot_be(texts, message):
    with pytest.raises(GottaError, match=message):
        parse_settings("resnet20", texts)


def test_mistakes_of_the_command(tmp_path, photos):
    out = tmp_path / "mine.safetensors"
    (tmp_path / "empty").mkdir()
    other = write_photos(tmp_path / "other", ("ant", "dog"))
    for arguments, message in [
        (("resnett20", "--data", photos, "--out", out), "'resnett20' is unknown. Did you mean 'resnet20'"),
        (("resnet20", "--data", photos, "--out", tmp_path / "mine.pt"), "ends in .safetensors"),
        (("resnet20", "--data", tmp_path / "nowhere", "--out", out), "nothing at --data"),
        (("resnet20", "--data", tmp_path / "empty", "--out", out), "no images at"),
        (("resnet20", "--data", photos / "ant" / "0.png", "--out", out), "not a readable tar archive"),
        (("resnet20", "--data", photos, "--out", out), "18 images do not fill a batch of 128"),
        (("vit-mini", "--data", photos, "--out", out, "--size", 30, *QUICK), "multiple of 8"),
        (("resnet20", "--data", photos, "--test", other, "--out", out), "differ in their classes: bee, cat, dog"),
    ]:
        with pytest.raises(GottaError, match=message):
            gotta_train(*arguments)
    (photos / "bee" / "3.png").write_bytes(b"no image")
    with pytest.raises(GottaError, match=r"bee/3.png is not a readable image"):
        gotta_train("resnet20", "--data", photos, "--out", out)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "other", "photos"]


def test_mistake_is_one_message_and_exit_code_2(tmp_path):
    told = gotta("train", "resnett20", "--data", ".", "--out", tmp_path / "a.safetensors", code=2)
    assert told.startswith("gotta: model 'resnett20' is unknown. Did you mean 'resnet20'?")
    assert told.count("\n") == 1


@pytest.mark.slow
def test_progress_on_a_terminal(tmp_path, photos):
    """A line that is redrawn, with accuracy and time left."""
    master, slave = pty.openpty()
    out = tmp_path / "a.safetensors"
    command = [sys.executable, "-m", "gotta.cli", "train", "resnet20", "--data", str(photos), "--out", str(out), *QUICK]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "150", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(command, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        shown = b""
        while select.select([master], [], [], 60)[0]:
            try:
                shown += os.read(master, 65536)
            except OSError:  # the other end is closed
                break
    os.close(master)
    assert process.returncode == 0
    assert b"\x1b[" in shown
    assert re.search(rb"epoch 2/2 .*training accuracy [\d.]+ %.* left", shown)


def test_tracks_are_split_by_track_and_thinned(tmp_path):
    sheets = write_sheets(tmp_path / "tracks.zip", ((0, 5), (1, 4)), frames=6, side=16)
    out = tmp_path / "signs.safetensors"
    printed = gotta_train("resnet18-small", "--data", sheets, "--every", 2, "--out", out, *QUICK, "-s", "flip=false")
    assert "21 images of 2 classes" in printed  # three of six frames of the seven tracks to train on
    training = record(out)["training"]
    assert training["test_images"] == 2 * 6
    assert training["classes"] == ["00", "01"]
    assert training["source"] == {"file": "tracks.zip", "held_out_of": 4, "every": 2}


def test_a_folder_of_tracks(tmp_path):
    folder, out = write_tracks(tmp_path / "tracks", tracks=4, frames=4), tmp_path / "mine.safetensors"
    printed = gotta_train("resnet20", "--data", folder, "--size", 8, "--out", out, *QUICK)
    assert "24 images of 2 classes" in printed
    assert record(out)["training"]["test_images"] == 8


def test_what_does_not_go_with_tracks(tmp_path, photos):
    sheets, out = write_sheets(tmp_path / "tracks.zip"), tmp_path / "x.safetensors"
    with pytest.raises(GottaError, match=r"--test .* is not used: every fourth track is held out"):
        gotta_train("resnet18-small", "--data", sheets, "--test", photos, "--out", out)
    with pytest.raises(GottaError, match=r"--every 3 thins the frames of video tracks, and .*photos holds none"):
        gotta_train("resnet18-small", "--data", photos, "--every", 3, "--out", out)
    assert not out.exists()
