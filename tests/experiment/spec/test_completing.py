import pytest

from gotta import GottaError
from gotta.experiment.spec.run_spec import RunSpec
from gotta.statistics import statistics


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


def test_the_method_decides_what_is_scored_unless_told():
    assert RunSpec.of({"method": {"name": "energy"}}).regime.score == "after"
    assert RunSpec.of({"method": {"name": "tent"}}).regime.score == "before"
    assert RunSpec.of({"method": {"name": "energy"}, "regime": {"score": "before"}}).regime.score == "before"


def test_a_preset_brings_its_statistics():
    assert RunSpec.of({"method": {"name": "pl", "preset": "tea"}}).method.statistics == "source"
    assert RunSpec.of({"method": {"name": "pl"}}).method.statistics == "batch"


def test_statistics_of_the_callers_keep_their_path(tmp_path, monkeypatch):
    lines = ["from gotta.statistics import Statistics", "class Still(Statistics):", "    ..."]
    (tmp_path / "still.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    statistics.take("still:Still")
    made = RunSpec.of({"method": {"name": "source", "statistics": "still:Still"}})
    assert made.method.statistics == "still:Still"
    assert RunSpec.of(made.model_dump(mode="json")) == made


def test_boundaries_of_clips_are_told_to_a_prior():
    video = {"data": {"name": "cifar10-mini-video"}, "method": {"name": "deskew"}}
    assert RunSpec.of(video).stream["boundaries"] == "told"
    assert RunSpec.of({**video, "stream": {"boundaries": "hidden"}}).stream["boundaries"] == "hidden"
    assert RunSpec.of({**video, "method": {"name": "tent"}}).stream["boundaries"] is None
    assert RunSpec.of({**video, "method": {"name": "deskew", "prior": "none"}}).stream["boundaries"] is None
    assert RunSpec.of({"method": {"name": "deskew"}}).stream["boundaries"] is None
    again = RunSpec.of(video)
    assert RunSpec.of(again.model_dump()).id == again.id
    with pytest.raises(GottaError, match="boundaries 'tol' is unknown"):
        RunSpec.of({"stream": {"boundaries": "tol"}})
