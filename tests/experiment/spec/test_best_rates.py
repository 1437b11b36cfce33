"""`rate: best` is a number that was measured, or a clear mistake."""

import pytest

from gotta import GottaError
from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec import best_rates as kept
from gotta.experiment.spec.best_rates import FILE, best_rates, settle_rate
from gotta.experiment.spec.run_spec import RunSpec
from gotta.json_yaml import parse_yaml

RATES = {("norm", "fps"): 0.2, ("norm", "fifo"): 0.05, ("norm", "running_statistics"): 0.1}


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setattr(kept, "best_rates", lambda: RATES)


def norm(**changes):
    return {"method": {"name": "norm", "rate": "best"}, "memory": {"name": "fps", "capacity": 32}, **changes}


def test_best_becomes_the_number_in_the_spec():
    spec = RunSpec.of(norm())
    assert spec.method.rate == 0.2
    assert spec.id == RunSpec.of(norm(method={"name": "norm", "rate": 0.2})).id


def test_a_control_has_its_own():
    assert RunSpec.of(norm(control="running_statistics")).method.rate == 0.1


def test_a_best_rate_that_is_the_papers_is_the_same_run():
    best = norm(memory={"name": "fifo", "capacity": 32})
    assert RunSpec.of(best).id == RunSpec.of({**best, "method": {"name": "norm"}}).id


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"memory": {"name": "pbrs", "capacity": 8}}, "for norm with pbrs .*measured for norm: fps, fifo"),
        ({"memory": {"name": "none"}}, "norm with none"),
        ({"method": {"name": "tent", "rate": "best"}}, "nothing is measured for tent"),
        ({"method": {"rate": "best"}}, "nothing is measured for source"),
    ],
)
def test_what_was_not_measured_is_a_mistake_with_a_way_out(changes, words):
    with pytest.raises(GottaError, match=words) as told:
        RunSpec.of(norm(**changes))
    assert "method.rate=0.1" in str(told.value)


def test_it_is_told_together_with_other_mistakes():
    with pytest.raises(GottaError, match="norm with pbrs") as told:
        RunSpec.of(norm(memory={"name": "pbrs", "capacity": 0}))
    assert "memory.capacity: input should be" in str(told.value)


def test_any_other_word_is_no_rate():
    with pytest.raises(GottaError, match="rate"):
        RunSpec.of(norm(method={"name": "norm", "rate": "fast"}))
    assert settle_rate({"method": {"rate": 0.1}}) == ({"method": {"rate": 0.1}}, [])
    assert settle_rate({"method": "norm"}) == ({"method": "norm"}, [])


def test_the_rates_of_the_package_are_the_best_of_what_was_measured():
    content = parse_yaml(FILE.read_text())
    rates = load_recipe("statistics").axes["method.rate"]
    assert content["chosen_on"]["domains"] == load_recipe("statistics").base["stream"]["domains"]
    for method, rows in content["rates"].items():
        for row, found in rows.items():
            assert list(found["accuracies"]) == rates
            assert found["accuracies"][found["rate"]] == max(found["accuracies"].values())
            assert best_rates()[method, row] == found["rate"]
    assert best_rates()
