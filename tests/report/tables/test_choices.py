"""Which settings surrogates choose, and what that costs."""

import pytest
from made_runs import panel_of
from made_tables import run

from gotta.report.tables.choices import choice_table, find_sweeps, information


def swept(lr, accuracy, entropy, seed=0, predicted=(50.0, 50.0), **told):
    online = {"entropy": entropy, "predicted": list(predicted)}
    return run("fps", "tent", accuracy, seed, summary={"online": online, **told}, method__arguments={"lr": lr})


def lines(*runs):
    found = choice_table(panel_of(runs))
    return {row.names: [cell.number for cell in row.cells] for row in found.rows}


def test_a_surrogate_chooses_by_its_mean_over_seeds_and_costs_what_the_best_is_above():
    runs = [swept(0.1, 40.0, 0.1), swept(0.1, 44.0, 0.3, 1), swept(0.01, 60.0, 0.5), swept(0.01, 62.0, 0.5, 1)]
    found = lines(*runs)
    assert found["tent", "fps", "lr", "entropy"] == ["0.1", "42.0", "0.01", "61.0", "19.0"]
    assert found["tent", "fps", "lr", "chance"] == ["any", "51.5", "0.01", "61.0", "9.5"]
    assert ("tent", "fps", "lr", "consistency") not in found  # nobody recorded it


def test_information_sees_a_collapse_that_entropy_likes():
    collapsed = swept(0.1, 10.0, 0.0, predicted=(100.0, 0.0))
    sound = swept(0.01, 60.0, 0.3)
    assert information(collapsed) == 0.0
    assert information(sound) == pytest.approx(0.6931 - 0.3, abs=1e-3)
    found = lines(collapsed, sound)
    assert found["tent", "fps", "lr", "entropy"][0] == "0.1"
    assert found["tent", "fps", "lr", "information"] == ["0.01", "60.0", "0.01", "60.0", "0.0"]


def test_recorded_surrogates_choose_too():
    told = [{"surrogates": {"consistency": c, "agreement": a}} for c, a in ((90.0, 70.0), (80.0, 75.0))]
    found = lines(swept(0.1, 40.0, 0.1, **told[0]), swept(0.01, 60.0, 0.5, **told[1]))
    assert found["tent", "fps", "lr", "consistency"][0] == "0.1"
    assert found["tent", "fps", "lr", "agreement"][0] == "0.01"


def test_a_sweep_is_of_runs_that_differ_in_one_number_and_what_follows_from_it():
    sizes = [run("fps", "norm", memory__capacity=size, regime__batch_size=size) for size in (8, 32)]
    assert [(name, list(values)) for name, values in find_sweeps(sizes)] == [("memory.capacity", [8, 32])]
    other = run("fps", "norm", memory__capacity=32, regime__batch_size=32, stream__gamma=0.5)
    assert not find_sweeps([sizes[0], other])
    assert not find_sweeps([run(seed=0), run(seed=1)])
    assert not choice_table(panel_of([run()])).rows


def test_sweeps_of_the_same_names_are_told_apart_by_what_else_differs():
    runs = [
        run(
            "fps", "tent", accuracy, summary={"online": {"entropy": 0.1}}, method__arguments={"lr": lr}, stream__gamma=g
        )
        for g in (0.5, 0.1)
        for lr, accuracy in ((0.1, 40.0), (0.01, 60.0))
    ]
    found = choice_table(panel_of(runs))
    assert found.heading[0] == "set-up"
    assert [row.names[0] for row in found.rows] == ["gamma 0.1"] * 2 + ["gamma 0.5"] * 2
