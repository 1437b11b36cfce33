import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 32}, **changes})


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"memory": {"name": "fps", "capacity": 0}}, "memory.capacity: input should be greater"),
        ({"memory": {"name": "fps"}}, "needs a capacity"),
        ({"memory": {"name": "true_cstu", "capacity": 8}}, "Use control: true_cstu"),
        ({"memory": {"name": "true_cstu", "capacity": 8}, "control": "true_pbrs"}, "Use control: true_cstu"),
        ({"control": "true_kcentre"}, "Did you mean 'true_kcenter'"),
        ({"data": {"name": "cifar10-mni"}}, "cifar10-mini"),
        ({"model": {"name": "resnet2"}}, "resnet20"),
        ({"pairing": "papr"}, "paper"),
        ({"method": {"name": "tent", "lrr": 1}}, "'method.lr'"),
        ({"memory": {"name": "fps", "capacity": 8, "epsilom": 1}}, "epsilon"),
    ],
)
def test_one_mistake_is_one_line(wrong, words):
    with pytest.raises(GottaError, match=words) as error:
        spec(**wrong)
    assert "\n" not in str(error.value)


def test_a_wrong_setting_of_a_method_is_told_before_anything_is_loaded():
    with pytest.raises(GottaError, match="preset of method 'rotta'"):
        RunSpec.of({"method": {"name": "rotta", "preset": "tae"}})
    with pytest.raises(GottaError, match=r"Did you mean 'method.nu'"):
        RunSpec.of({"method": {"name": "rotta", "mu": 1.0}})


@pytest.mark.parametrize("wrong", [True, 3, 0.5, [1], [["x"]], {"x": 1}])
@pytest.mark.parametrize(
    ("section", "key", "words"),
    [
        ("method", "name", "method"),
        ("method", "preset", "preset of"),
        ("method", "quirks", "quirk"),
        ("memory", "name", "memory"),
    ],
)
def test_a_name_that_is_no_text_is_unknown(section, key, words, wrong):
    with pytest.raises(GottaError, match=words):
        RunSpec.of({"method": {"name": "norm"}, section: {"name": "norm", key: wrong}})


@pytest.mark.parametrize(
    "given",
    [
        {"memory": {"name": "fifo", "capacity": 10**9}},
        {"regime": {"batch_size": 10**9}},
        {"regime": {"adapt_every": 10**30}},
    ],
)
def test_sizes_that_no_machine_has_are_refused(given):
    with pytest.raises(GottaError, match=r"equal to 1000000|[Ee]xpected at most 1,000,000|and at most 1,000,000"):
        RunSpec.of(given)


def test_no_argument_of_a_memory_says_where_samples_are_kept(tmp_path):
    for name in ("storage", "rng", "journal"):
        arguments = {name: str(tmp_path / "taken")}
        with pytest.raises(GottaError, match=f"setting 'memory.{name}' is unknown"):
            RunSpec.of({"memory": {"name": "fifo", "capacity": 8, **arguments}})
    assert not (tmp_path / "taken").exists()
