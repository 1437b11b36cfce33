import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec


def eata(dataset="cifar10-mini", **fisher):
    return RunSpec.of({"method": {"name": "eata", "fisher": fisher}, "data": {"name": dataset}})


@pytest.mark.parametrize(
    ("data", "source", "number"),
    [
        ("cifar10-mini", "bundled", 500),
        ("cifar10-mini-video", "bundled", 500),
        ("cifar10", "cifar10-train", 2000),
        ("cifar10_c", "cifar10-train", 2000),
        ("cifar100_c", "cifar100-train", 2000),
    ],
)
def test_what_is_left_open_is_decided_by_the_data_set(data, source, number):
    assert eata(data).method.arguments["fisher"] == {"data": source, "number": number, "seed": 0}


def test_a_complete_spec_is_itself_again_and_another_choice_is_another_run():
    assert RunSpec.of(eata(number=100).model_dump()) == eata(number=100)
    assert len({eata().id, eata(number=100).id, eata(seed=1).id, RunSpec.of({"method": {"name": "eata"}}).id}) == 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"number": 1}, "greater than or equal to 2; got 1"),
        ({"seed": -1}, "greater than or equal to 0; got -1"),
        ({"nummer": 3}, "Did you mean 'method.fisher.number'"),
        ({"number": "many"}, "method.fisher.number"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(GottaError, match=words):
        eata(**given)


def test_a_data_set_without_known_training_images_is_refused_with_the_way_out():
    with pytest.raises(
        GottaError, match=r"no clean samples are known for data set 'imagenet_c'.*method.fisher.data=NAME"
    ):
        eata("imagenet_c")
    assert eata("imagenet_c", data="train.zip").method.arguments["fisher"]["number"] == 2000


@pytest.mark.parametrize("method", ["petta", "foa"])
def test_methods_that_look_at_source_features_name_their_samples_alike(method):
    def spec(**samples):
        return RunSpec.of({"method": {"name": method, "source_data": samples}, "model": {"name": "vit-mini"}})

    assert spec().method.arguments["source_data"] == {"data": "bundled", "number": 500, "seed": 0}
    assert RunSpec.of(spec(number=9).model_dump()) == spec(number=9)
    assert spec().id != RunSpec.of({"method": {"name": method}, "model": {"name": "vit-mini"}}).id
    with pytest.raises(GottaError, match=r"Did you mean 'method.source_data.number'"):
        spec(nummer=3)


def test_other_methods_take_no_clean_samples():
    with pytest.raises(GottaError, match="fisher"):
        RunSpec.of({"method": {"name": "eta", "fisher": {}}})
