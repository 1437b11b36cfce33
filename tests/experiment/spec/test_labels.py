from gotta.experiment.spec.dotted import labels
from gotta.experiment.spec.run_spec import RunSpec


def spec(**changes):
    return RunSpec.of({"method": {"name": "norm"}, "memory": {"name": "fps", "capacity": 8}, **changes})


def test_runs_of_one_label_are_told_apart_by_what_differs():
    made = [spec(), spec(memory={"name": "fps", "capacity": 16}), spec(seed=1)]
    assert list(labels(made).values()) == [
        "norm + fps, seed 0, capacity=8",
        "norm + fps, seed 0, capacity=16",
        "norm + fps, seed 1",
    ]
    crossed = [
        spec(memory={"name": "fps", "capacity": 8, "epsilon": e}, stream={"gamma": g}) for e in (1, 2) for g in (3, 4)
    ]
    found = list(labels(crossed).values())
    assert len(set(found)) == 4
    assert all("epsilon=" in text and "gamma=" in text for text in found)


def test_a_label_names_the_value_that_a_preset_or_a_default_decides():
    tent = {"method": {"name": "tent"}}
    made = [spec(**tent), spec(method={"name": "tent", "lr": 0.5}), spec(method={"name": "tent", "preset": "tea"})]
    found = list(labels(made).values())
    assert not any("None" in text for text in found)
    assert "lr=0.001" in found[0]
    assert "lr=0.5" in found[1]
    assert "preset=official" in found[0]
    assert "preset=tea" in found[2]
    made = [spec(memory={"name": "fps", "capacity": 8, **more}) for more in ({}, {"epsilon": 0.5})]
    assert [text.split(", ")[-1] for text in labels(made).values()] == ["epsilon=0.005", "epsilon=0.5"]


def test_a_setting_that_a_run_does_not_have_is_left_out_of_its_label():
    waiting, running = spec(), spec(regime={"clock": "analytic", "pace": 2})
    found = labels([waiting, running, spec(regime={"clock": "analytic", "pace": 4})])
    assert found[waiting.id] == "norm + fps, seed 0, clock=none"
    assert found[running.id] == "norm + fps, seed 0, clock=analytic, pace=2.0"
    dynamic = [spec(memory={"name": "fpsd", "capacity": 8, **more}) for more in ({}, {"refresh_every": 3})]
    assert [text.split(", ")[-1] for text in labels(dynamic).values()] == ["refresh_every=10", "refresh_every=3"]
