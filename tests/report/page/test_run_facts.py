"""What the page shows of one run."""

from made_runs import made, panel_of
from made_store import write

from gotta.report.page.webpage import curves, run_facts
from gotta.report.results import read_results


def test_runs_are_labelled_by_their_places():
    facts = run_facts(panel_of([made(memory__capacity=8), made(memory__capacity=16, seed=0), made("none", seed=2)]))
    assert [fact["label"] for fact in facts.values()] == [
        "norm + fps capacity=8, seed 0",
        "norm + fps capacity=16, seed 0",
        "norm without a memory, seed 2",
    ]


def test_numbers_are_plain_and_what_is_missing_is_left_out():
    cost = {"predict": {"seconds": 0.127}, "adapt": {"seconds": None}, "observe": {}}
    run = made(summary={"cost": cost, "decisions": {"stored": 3, "rejected": 0}, "seconds": None})
    (facts,) = run_facts(panel_of([run])).values()
    assert (facts["accuracy"], facts["error"], facts["seconds"]) == (53.0, 47.0, None)
    assert facts["cost"] == {"predict": 0.13}
    assert facts["decisions"] == {"stored": 3}
    assert facts["domains"][0] == ["fog-5", 50.0]
    assert ["id", run.id] in facts["settings"]
    assert ["memory.capacity", "32"] in facts["settings"]
    assert not any(name == "control" for name, _ in facts["settings"])  # None
    assert (facts["at"], facts["state"]) == ([], {})  # no steps were recorded


def test_the_way_over_the_stream_has_the_measures_with_a_curve(tmp_path):
    results = read_results(write(tmp_path, [made()]))
    (facts,) = run_facts(results.placed.whole).values()
    assert facts["steps"] == len(facts["at"]) == 8
    assert list(facts["state"]) == list(curves()) == ["balance", "purity", "near_duplicates", "coverage"]
    assert facts["visits"][1] == ["snow-5", 200, 400]


def test_shares_have_limits_and_distances_their_own():
    assert curves()["purity"]["limits"] == [0, 1]
    assert "limits" not in curves()["coverage"]
