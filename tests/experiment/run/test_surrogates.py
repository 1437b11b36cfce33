"""What is known without labels, recorded beside a run that stays as it is."""

import pytest

from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec


def spec(method, surrogates, **changes):
    stream = {"per_class": 2, "domains": ["snow", "contrast"]}
    given = {"method": {"name": method}, "memory": {"name": "fps", "capacity": 8}, "stream": stream, **changes}
    return RunSpec.of({**given, "regime": {"surrogates": surrogates}})


@pytest.mark.parametrize("method", ["tent", "cotta", "deskew", "rotta"])
def test_recording_surrogates_changes_no_number_of_a_run(method):
    memory = {"name": "none"} if method == "deskew" else {"name": "fps", "capacity": 8}
    (steps, plain), (recorded, told) = (run(spec(method, flag, memory=memory)) for flag in (False, True))
    assert told["online"] == plain["online"]
    for phase in ("predict", "adapt"):
        assert told["cost"][phase]["forwards"] == plain["cost"][phase]["forwards"]
    assert [step["adaptations"] for step in recorded] == [step["adaptations"] for step in steps]
    assert "surrogates" not in plain
    assert set(told["surrogates"]) == {"agreement", "consistency"}
    assert 0 < told["surrogates"]["consistency"] <= 100


def test_the_source_agrees_with_itself():
    told = run(spec("source", True, memory={"name": "none"}))[1]
    assert told["surrogates"]["agreement"] == 100


def test_a_run_that_records_none_keeps_its_name():
    assert spec("tent", False).id == RunSpec.of({**spec("tent", False).model_dump()}).id
    assert "surrogates" not in spec("tent", False).identity["settings"]["regime"]
    assert spec("tent", True).id != spec("tent", False).id
