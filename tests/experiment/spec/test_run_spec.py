import json
import os
import subprocess
import sys

import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 32}, **changes})


def test_what_is_left_open_is_decided():
    made = spec()
    assert (made.regime.batch_size, made.regime.adapt_every) == (32, 32)
    assert (made.method.statistics, made.method.fed_by, made.method.rate) == ("running", "memory", 0.05)
    assert made.stream["gamma"] == 0.1


def test_no_memory_has_the_methods_own_rule_in_steps_of_64():
    made = spec(memory={"name": "none", "capacity": 32})
    assert (made.regime.batch_size, made.regime.adapt_every) == (64, None)
    assert made.method.statistics == "batch"


def test_fixed_regime():
    made = spec(regime={"name": "fixed"})
    assert (made.regime.batch_size, made.regime.adapt_every) == (64, 64)


def test_pairing_memory():
    made = spec(method={"name": "tent"}, pairing="memory")
    assert (made.method.statistics, made.method.fed_by) == ("running", "memory")
    assert spec(method={"name": "tent"}).method.statistics == "batch"


def test_controls_are_named_combinations_in_steps_of_the_memory_rows():
    running = spec(control="running_statistics")
    assert (running.memory.name, running.method.statistics, running.method.fed_by) == ("none", "running", "batch")
    assert (running.regime.batch_size, running.regime.adapt_every) == (32, None)
    same = spec(control="same_samples")
    assert (same.memory.name, same.method.statistics, same.regime.batch_size) == ("none", "batch", 32)
    for name in ("true_kcenter", "true_cstu", "true_pbrs"):
        told = spec(control=name)
        assert (told.memory.name, told.method.statistics, told.regime.adapt_every) == (name, "running", 32)


def test_the_control_of_domain_statistics_leaves_them_as_they_are_told():
    known = spec(control="domain_statistics")
    assert (known.memory.name, known.method.statistics, known.method.rate) == ("none", "source", None)
    assert known.regime.batch_size == spec(control="same_samples").regime.batch_size


def test_the_former_name_of_a_control_is_still_read():
    assert spec(control="oracle") == spec(control="true_kcenter")
    stored = spec(control="true_kcenter").model_dump()
    stored = {**stored, "control": "oracle", "memory": {**stored["memory"], "name": "oracle"}}
    assert RunSpec.of(stored) == spec(control="true_kcenter")


def test_a_complete_spec_is_itself_again():
    for made in (spec(), spec(control="true_pbrs"), spec(control="running_statistics"), spec(method={"name": "tent"})):
        assert RunSpec.of(json.loads(made.model_dump_json())) == made


def test_the_id_is_the_content():
    assert spec().id == spec().id
    assert len({spec().id, spec(seed=1).id, spec(method={"name": "tent"}).id, spec(stream={"gamma": 0.2}).id}) == 4


@pytest.mark.parametrize("hash_seed", ["1", "4242"])
def test_the_id_is_the_same_in_another_process(hash_seed):
    code = (
        "from gotta.experiment.spec.run_spec import RunSpec; "
        "print(RunSpec.of({'memory': {'epsilon': 0.1, 'capacity': 32, 'lambda_t': 0.5, 'name': 'fps'}, "
        "'method': {'name': 'norm'}}).id)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    here = spec(memory={"name": "fps", "arguments": {"lambda_t": 0.5, "epsilon": 0.1}, "capacity": 32})
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
    for word in ("'norm'", "'fps'", "capacity", "gama", "gamma must", "batch_size=0", "'model'", "seed=-1"):
        assert word in text, word
    assert len(text.splitlines()) >= 9


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"memory": {"name": "fps", "capacity": 0}}, "capacity=0"),
        ({"memory": {"name": "fps"}}, "needs a capacity"),
        ({"memory": {"name": "true_cstu", "capacity": 8}}, "Use control: true_cstu"),
        ({"memory": {"name": "true_cstu", "capacity": 8}, "control": "true_pbrs"}, "Use control: true_cstu"),
        ({"control": "true_kcentre"}, "Did you mean 'true_kcenter'"),
        ({"data": {"name": "cifar10-mni"}}, "cifar10-mini"),
        ({"model": {"name": "resnet2"}}, "resnet20"),
        ({"pairing": "papr"}, "paper"),
        ({"method": {"name": "tent", "arguments": {"lrr": 1}}}, "'method.lr'"),
        ({"memory": {"name": "fps", "capacity": 8, "arguments": {"epsilom": 1}}}, "epsilon"),
    ],
)
def test_one_mistake_is_one_line(wrong, words):
    with pytest.raises(GottaError, match=words) as error:
        spec(**wrong)
    assert "\n" not in str(error.value)


def test_the_method_decides_what_is_scored_unless_told():
    assert RunSpec.of({"method": {"name": "energy"}}).regime.score == "after"
    assert RunSpec.of({"method": {"name": "tent"}}).regime.score == "before"
    assert RunSpec.of({"method": {"name": "energy"}, "regime": {"score": "before"}}).regime.score == "before"


def test_a_preset_brings_its_statistics():
    assert RunSpec.of({"method": {"name": "pl", "arguments": {"preset": "tea"}}}).method.statistics == "source"
    assert RunSpec.of({"method": {"name": "pl"}}).method.statistics == "batch"


def test_a_wrong_setting_of_a_method_is_told_before_anything_is_loaded():
    with pytest.raises(GottaError, match="preset of method 'rotta'"):
        RunSpec.of({"method": {"name": "rotta", "arguments": {"preset": "tae"}}})
    with pytest.raises(GottaError, match=r"Did you mean 'method.nu'"):
        RunSpec.of({"method": {"name": "rotta", "arguments": {"mu": 1.0}}})


def test_a_setting_that_must_not_be_empty_is_a_mistake_like_others():
    with pytest.raises(GottaError, match=r"2 mistakes(.|\n)*seed(.|\n)*'tnt'"):
        RunSpec.of({"seed": None, "method": {"name": "tnt"}})


@pytest.mark.parametrize(
    "given",
    [
        {"memory": {"name": "fifo", "capacity": 10**9}},
        {"regime": {"batch_size": 10**9}},
        {"regime": {"adapt_every": 10**30}},
    ],
)
def test_sizes_that_no_machine_has_are_refused(given):
    with pytest.raises(GottaError, match=r"is too large. Expected at most 1,000,000"):
        RunSpec.of(given)


def test_no_argument_of_a_memory_says_where_samples_are_kept(tmp_path):
    for name in ("storage", "rng", "journal"):
        arguments = {name: str(tmp_path / "taken")}
        for given in (arguments, {"arguments": arguments}):
            with pytest.raises(GottaError, match=f"setting 'memory.{name}' is unknown"):
                RunSpec.of({"memory": {"name": "fifo", "capacity": 8, **given}})
    assert not (tmp_path / "taken").exists()


def test_boundaries_of_clips_are_told_to_a_prior_and_named_only_where_they_count():
    video = {"data": {"name": "cifar10-mini-video"}, "method": {"name": "deskew"}}
    assert RunSpec.of(video).stream["boundaries"] == "told"
    assert RunSpec.of({**video, "stream": {"boundaries": "hidden"}}).stream["boundaries"] == "hidden"
    assert "boundaries" not in RunSpec.of({**video, "method": {"name": "tent"}}).stream
    assert "boundaries" not in RunSpec.of({**video, "method": {"name": "deskew", "prior": "none"}}).stream
    assert "boundaries" not in RunSpec.of({"method": {"name": "deskew"}}).stream
    again = RunSpec.of(video)
    assert RunSpec.of(again.model_dump()).id == again.id
    with pytest.raises(GottaError, match="boundaries 'tol' is unknown"):
        RunSpec.of({"stream": {"boundaries": "tol"}})


def test_a_run_without_limits_of_exposure_is_the_run_it_was_before_there_were_any():
    usual = spec()
    assert "expose_every" not in usual.model_dump()["regime"]
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
