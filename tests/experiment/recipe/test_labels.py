from gotta.experiment.recipe.labels import labels
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
