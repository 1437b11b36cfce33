import numpy as np
import pytest
from PIL import Image

from gotta import GottaError
from gotta.data.readers.bundled import bundled
from gotta.experiment.recipe.missing import missing
from gotta.experiment.run.clean_images import clean_images, images_used
from gotta.experiment.run.loaded import data_of, model_of
from gotta.experiment.run.run import build, run
from gotta.experiment.spec.run_spec import RunSpec


def spec(method="eata", data="cifar10-mini", **settings):
    stream = {"per_class": 20, "domains": ["snow"], "schedule": "one"}
    return RunSpec.of(
        {"method": {"name": method, "lr": 0.05, **settings}, "data": {"name": data}, "stream": stream, "seed": 0}
    )


def test_the_bundled_training_images_are_not_among_those_of_streams():
    (train, labels, rows), (test, _, _) = bundled("train"), bundled()
    assert np.bincount(labels).tolist() == [50] * 10
    assert np.all(np.diff(rows) > 0)
    assert not {image.tobytes() for image in train} & {image.tobytes() for image in test}


def test_eata_with_clean_samples_is_not_eta_and_without_it_is():
    eata, plain, eta = (spec(fisher={"number": 64}, beta=2000.0), spec(), spec("eta"))
    assert build(eata, model_of(eata), data_of(eata)).notes == []
    assert "is eta" in build(plain, model_of(plain), data_of(plain)).notes[0]
    losses = [[step["loss"] for step in run(one)[0] if "loss" in step] for one in (eata, plain, eta)]
    assert losses[1] == losses[2]
    assert losses[0] != losses[1]


def test_petta_with_clean_samples_measures_how_far_it_strays():
    with_samples, without = spec("petta", source_data={"number": 64}), spec("petta")
    assert build(with_samples, model_of(with_samples), data_of(with_samples)).notes == []
    assert "fixed strength" in build(without, model_of(without), data_of(without)).notes[0]
    steps, summary = run(with_samples)[:2]
    assert any("strayed" in step for step in steps)
    assert not any("strayed" in step for step in run(without)[0])
    assert "source_data_sha256" in str(summary)


def test_number_and_seed_choose_the_images_and_the_summary_says_which():
    net = model_of(spec())
    few = clean_images(spec(fisher={"number": 32}), net)["fisher"]
    assert few.shape == (32, 32, 32, 3)
    assert np.array_equal(few, clean_images(spec(fisher={"number": 32}), net)["fisher"])
    assert "at most 500, as 'bundled' has" in missing([spec(fisher={"number": 501})])[0].what
    assert not np.array_equal(few, clean_images(spec(fisher={"number": 32, "seed": 1}), net)["fisher"])
    used = {images_used(spec(fisher={"number": 32, "seed": seed}), net)["fisher_sha256"] for seed in (0, 1)}
    assert len(used) == 2
    assert images_used(spec(), net) == {}


def test_images_of_ones_own_are_read_from_the_data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    for name in "abcd":
        (tmp_path / "clean" / name[0]).mkdir(parents=True)
        Image.new("RGB", (40, 48), (30 * ord(name) % 255, 9, 9)).save(tmp_path / "clean" / name / "1.png")
    asked = spec(fisher={"data": "clean", "number": 3})
    assert clean_images(asked, None)["fisher"].shape == (3, 32, 32, 3)
    assert len(clean_images(spec(fisher={"data": "clean", "number": 4}), None)["fisher"]) == 4
    with pytest.raises(GottaError, match=r"at most 4, as 'clean' has .got 5."):
        clean_images(spec(fisher={"data": "clean", "number": 5}), None)


def test_a_training_file_that_is_not_there_is_told_before_the_run_with_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("GOTTA_DATA", str(tmp_path))
    (found,) = missing([spec(fisher={"data": "cifar10-train"})])
    assert "cifar-10-python.tar.gz" in found.what
    assert found.command.startswith("gotta data download cifar10")
