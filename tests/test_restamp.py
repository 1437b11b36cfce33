"""`.ci/restamp.py`: kept runs of format 2 become runs of format 3, with every score as it was."""

import importlib.util
import json
from pathlib import Path

import pytest

from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.kept import Kept

OLD = Path(__file__).parent / "format2.jsonl"  # of each kind a run, as gotta 0.2 wrote it
MAY_CHANGE = {"id", "spec", "identity", "summary", "sha256"}  # of a line; of its summary: "adaptations"


@pytest.fixture(scope="module")
def restamp():
    found = importlib.util.spec_from_file_location("restamp", Path(__file__).parents[1] / ".ci" / "restamp.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def lines(path=OLD):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_scores_and_all_else_stay_to_the_bit(restamp):
    assert restamp.CHANGED == ("adaptations",)
    for before in lines():
        after = restamp.restamp(before)
        assert {name for name in after if after[name] != before[name]} <= MAY_CHANGE
        changed = {name for name in before["summary"] if after["summary"][name] != before["summary"][name]}
        assert changed <= {"adaptations"}
        assert list(after["summary"]) == list(before["summary"])


def test_only_runs_that_never_adapt_count_others(restamp):
    counts = {line["spec"]["method"]["name"]: restamp.restamp(line)["summary"]["adaptations"] for line in lines()}
    assert counts.pop("source") == counts.pop("deskew") == 0
    assert all(counts.values())
    assert len(counts) >= 3


def test_the_new_name_is_that_of_the_same_settings_now(restamp):
    here = [line for line in lines() if ":" not in line["spec"]["model"]["name"]]  # of no other package
    assert len(here) >= 8
    for before in here:
        after = restamp.restamp(before)
        assert RunSpec.of(after["spec"]).id == after["id"]


def test_the_file_is_one_of_kept_runs_and_stays_one(restamp, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(OLD.read_text())
    assert restamp.restamp_file(path) == len(lines())
    found = list(Kept(path).scan())
    assert [id for id, run in found if isinstance(run, str)] == []
    once = path.read_bytes()
    restamp.restamp_file(path)
    assert path.read_bytes() == once


def test_a_line_that_was_edited_is_refused(restamp):
    line = lines()[0]
    line["summary"]["accuracy"] = 99.0
    with pytest.raises(SystemExit, match="was changed after it was written"):
        restamp.restamp(line)
