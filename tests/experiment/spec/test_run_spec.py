import json
import os
import subprocess
import sys

import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 32}, **changes})


def test_a_complete_spec_is_itself_again():
    for made in (spec(), spec(control="true_pbrs"), spec(control="running_statistics"), spec(method={"name": "tent"})):
        assert RunSpec.of(json.loads(made.model_dump_json())) == made


def test_the_id_is_the_content():
    assert spec().id == spec().id
    assert len({spec().id, spec(seed=1).id, spec(method={"name": "tent"}).id, spec(stream={"gamma": 0.2}).id}) == 4


def test_the_id_is_the_same_in_another_process():
    code = (
        "from gotta.experiment.spec.run_spec import RunSpec; "
        "print(RunSpec.of({'memory': {'epsilon': 0.1, 'capacity': 32, 'lambda_t': 0.5, 'name': 'fps'}, "
        "'method': {'name': 'norm'}}).id)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "4242"}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    here = spec(memory={"name": "fps", "lambda_t": 0.5, "epsilon": 0.1, "capacity": 32})
    assert found.stdout.strip() == here.id


@pytest.mark.parametrize(
    "section",
    [
        lambda one: {"stream": {"gamma": one}},
        lambda one: {"stream": {"order": "note", "beta": one}},
        lambda one: {"method": {"name": "tent", "lr": one}},
        lambda one: {"memory": {"name": "fps", "capacity": 8, "epsilon": one}},
        lambda one: {"regime": {"clock": "analytic", "pace": one}},
    ],
)
def test_a_whole_number_is_the_same_number_as_a_float(section):
    assert RunSpec.of(section(1)).id == RunSpec.of(section(1.0)).id
    assert RunSpec.of(section(1)).id != RunSpec.of(section(2)).id


def test_all_mistakes_are_shown_together():
    wrong = {
        "method": {"name": "nrm"},
        "memory": {"name": "fsp", "capacity": "many"},
        "stream": {"gama": 1, "gamma": -1},
        "regime": {"batch_size": 0},
        "modle": {},
        "seed": -1,
    }
    with pytest.raises(GottaError) as error:
        RunSpec.of(wrong)
    text = str(error.value)
    for word in ("'norm'", "'fps'", "capacity", "gama", "gamma must", "batch_size must", "'model'", "seed: input"):
        assert word in text, word
    assert len(text.splitlines()) >= 9


def test_a_setting_that_must_not_be_empty_is_a_mistake_like_others():
    with pytest.raises(GottaError, match=r"2 mistakes(.|\n)*seed(.|\n)*'tnt'"):
        RunSpec.of({"seed": None, "method": {"name": "tnt"}})


def test_limits_of_exposure_that_limit_nothing_are_none():
    usual = spec()
    assert usual.regime.expose_every is None
    assert spec(regime={"expose_every": 1, "expose_share": 1}).id == usual.id
    limited = spec(regime={"expose_every": 4})
    assert limited.model_dump()["regime"]["expose_every"] == 4
    assert limited.id != usual.id
    assert RunSpec.of(limited.model_dump()).id == limited.id


def test_wrong_limits_of_exposure_are_told_before_anything_runs():
    with pytest.raises(GottaError, match=r"expose_share must be a number above 0 and at most 1 \(got 2.0\)"):
        spec(regime={"expose_share": 2})
    with pytest.raises(GottaError, match=r"expose_every"):
        spec(regime={"expose_every": "often"})
