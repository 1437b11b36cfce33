"""The runs that the repository keeps can be read, are small, and a sample of them gives the same numbers again."""

from pathlib import Path

import pytest

from gotta.experiment.recipe.recipe import load_recipe, recipes
from gotta.experiment.run.environment import environment
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.kept import Kept, open_runs
from gotta.experiment.sweep.store import Run
from gotta.json_yaml import plain

FOLDER = Path(__file__).parents[1] / "results"
SAMPLE = FOLDER / "sample.jsonl"
LARGEST = 20_000_000  # bytes of all files together
MACHINE = ("cpu", "platform", "torch", "torch_threads", "cuda")  # where these are the same, so are all bits
TOLERANCE = 3.0  # points of accuracy in a domain of 100 images, elsewhere


def test_all_kept_runs_are_whole_and_small():
    files = sorted(FOLDER.glob("*.jsonl"))
    assert SAMPLE in files
    assert sum(path.stat().st_size for path in files) < LARGEST
    found = dict(open_runs(FOLDER).scan())
    assert [id for id, one in found.items() if not isinstance(one, Run)] == []
    assert len(found) >= 4


def test_the_sample_is_what_its_recipe_asks_for():
    asked = {spec.label: spec.model_dump() for spec in load_recipe(FOLDER / "sample.yaml").runs()}
    kept = [RunSpec.model_validate(one.spec) for one in Kept(SAMPLE).runs()]  # settings added since are the usual ones
    assert {spec.label: spec.model_dump() for spec in kept} == asked


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.jsonl") if path.stem in recipes()))
def test_kept_runs_are_of_the_recipe_of_their_name(name):
    """A recipe that was changed since says something else than the pages that name it."""
    runs = Kept(FOLDER / f"{name}.jsonl").runs()
    for package in {one.spec["model"]["name"].partition(":")[0] for one in runs if ":" in one.spec["model"]["name"]}:
        pytest.importorskip(package, reason=f"the network is one of the package {package}")
    kept = {one.id for one in runs}
    assert kept
    assert kept <= {spec.id for spec in load_recipe(name).runs()}


@pytest.mark.parametrize("label", ["source + none", "norm + none", "norm + fps", "deskew + none"])
def test_a_kept_run_gives_the_same_numbers_again(label):
    (kept,) = [one for one in Kept(SAMPLE).runs() if RunSpec.model_validate(one.spec).label == f"{label}, seed 0"]
    _, summary = run(RunSpec.of(kept.spec))
    here, there = environment(), kept.environment
    now, before = plain(summary["online"]), kept.summary["online"]
    assert summary["stream"]["order_hash"] == kept.summary["stream"]["order_hash"]
    if all(here[name] == there[name] for name in MACHINE):
        assert {name: now[name] for name in before} == before  # a later version may tell more
    for one, other in zip(now["domains"], before["domains"], strict=True):
        assert (one["name"], one["samples"]) == (other["name"], other["samples"])
        assert abs(one["accuracy"] - other["accuracy"]) <= TOLERANCE
