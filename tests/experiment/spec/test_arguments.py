import sys
from dataclasses import dataclass

import pytest

from gotta import GottaError
from gotta.experiment.spec.arguments import list_arguments
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.spec.user_parts import find_mistakes


def test_arguments_stand_beside_the_settings():
    spec = RunSpec.of(
        {"method": {"name": "rotta", "nu": 0.1, "rate": 0.2}, "memory": {"name": "cds", "capacity": 4, "subset": 2}}
    )
    assert spec.method.arguments["nu"] == 0.1
    assert spec.method.rate == 0.2
    assert spec.memory.arguments["subset"] == 2


def test_a_complete_spec_has_every_argument_and_one_that_says_the_default_is_the_same_run():
    short = RunSpec.of({"method": {"name": "tent"}, "memory": {"name": "cds", "capacity": 4}})
    assert short.method.arguments["lr"] == 1e-3
    assert short.memory.arguments["epsilon"] == 0.005
    assert short.data.arguments == {"table": "cifar", "seed": 0}
    told = {"method": {"name": "tent", "lr": 1e-3}, "memory": {"name": "cds", "capacity": 4, "epsilon": 0.005}}
    assert RunSpec.of(told) == short
    assert RunSpec.of(told).id == short.id
    assert RunSpec.of({**told, "method": {"name": "tent", "lr": 2e-3}}).id != short.id


def test_arguments_that_are_images_stay_open():
    assert "fisher" not in RunSpec.of({"method": {"name": "eata"}}).method.arguments


def test_what_nobody_knows_is_told_with_settings_and_arguments():
    with pytest.raises(GottaError) as error:
        RunSpec.of(
            {"method": {"name": "tent", "lrr": 1, "nmae": 2}, "memory": {"name": "fps", "capacity": 8, "epsilom": 1}}
        )
    text = str(error.value)
    for near in ("'method.lr'", "'method.name'", "'memory.epsilon'"):
        assert f"Did you mean {near}" in text


def test_arguments_of_an_unknown_method_are_not_complained_about():
    with pytest.raises(GottaError, match="Did you mean 'tent'") as error:
        RunSpec.of({"method": {"name": "tnet", "lr": 1}})
    assert "\n" not in str(error.value)


def test_a_policy_of_ones_own_is_not_looked_at(monkeypatch):
    @dataclass(frozen=True)
    class Mine:
        depth: int = 3

        def place(self, table, new, rng):
            return -1

    module = type(sys)("mine_with_arguments")
    module.Mine = Mine
    monkeypatch.setitem(sys.modules, "mine_with_arguments", module)
    name = "mine_with_arguments:Mine"
    assert list_arguments("memory", name) is None
    given = {"memory": {"name": name, "capacity": 2, "depth": 5, "dept": 6}}
    assert RunSpec.of(given, imports=["mine_with_arguments"]).memory.arguments == {"depth": 5, "dept": 6}
    assert "argument of memory 'mine_with_arguments:Mine' 'dept' is unknown. Did you mean 'depth'?" in "".join(
        find_mistakes([RunSpec.of(given)])
    )


@pytest.mark.parametrize("wrong", [{"method": "tent"}, {"method": {"name": 3}}, {"memory": {"arguments": 1}}, [], None])
def test_nonsense_is_one_error(wrong):
    with pytest.raises(GottaError):
        RunSpec.of(wrong)
