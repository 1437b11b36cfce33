"""`gotta.advise`: the candidates are run on the caller's network and stream, and the best one is named."""

from types import SimpleNamespace

import pytest
from made_runs import made
from PIL import Image

import gotta
from gotta.errors import GottaError
from gotta.workflow.advice import Advice, Candidate, count_passes, list_arguments, write_call


def candidate(method, accuracy, passes=1.0, **changes):
    cost = {"predict": {"forwards": 10, "samples": 1000 * passes, "backwards": 0}}
    return Candidate(made("none", method, (accuracy,) * 4, summary={"cost": cost}, memory__capacity=None, **changes))


SOURCE = candidate("source", 40.0)
CHEAP = candidate("deskew", 69.5, method__prior="none")
DEAR = candidate("sar", 70.0, 4.0)
ORDERED = candidate("deskew", 90.0, method__prior="patient")


def advice(*candidates, budget=float("inf")):
    return Advice((SOURCE, *candidates), budget, True, "runs/advise")


def test_the_cheapest_within_a_point_of_the_best_is_chosen():
    assert advice(DEAR, CHEAP).best is CHEAP
    better = candidate("sar", 71.0, 4.0)
    assert advice(better, CHEAP).best is better
    assert advice(better, CHEAP, budget=2).best is CHEAP


def test_the_network_as_it_is_comes_before_what_costs_the_same_and_gains_less_than_a_point():
    assert advice(candidate("t3a", 40.9)).best is SOURCE
    assert advice(candidate("t3a", 41.1)).best is not SOURCE


def test_what_uses_the_order_of_samples_is_named_beside_what_does_not():
    found = advice(CHEAP, ORDERED)
    assert found.best is ORDERED
    assert found.choose(order=False) is CHEAP
    assert ORDERED.uses_order
    assert not CHEAP.uses_order


def test_a_budget_that_nothing_keeps_is_one_error():
    with pytest.raises(GottaError, match=r"no candidate takes at most 0\.5 forwards"):
        advice(CHEAP, budget=0.5).choose()
    with pytest.raises(GottaError, match="budget must be a number of at least 1"):
        gotta.advise("resnet20", budget=0)


def test_a_call_can_be_pasted():
    assert write_call({"method": "rotta", "memory": "fps", "capacity": 64}) == (
        'gotta.adapt(net, method="rotta", memory="fps", capacity=64)'
    )
    assert list_arguments(made("fps", "tent")) == {"method": "tent", "memory": "fps", "capacity": 32}
    assert list_arguments(DEAR.run) == {"method": "sar"}


def test_a_backward_is_as_wide_as_the_forwards_of_its_phase():
    single, step = {"forwards": 128, "backwards": 0, "samples": 128}, {"forwards": 4, "backwards": 2, "samples": 256}
    assert count_passes({"predict": single, "adapt": step}) == 128 + 256 + 2 * 2 * 64


SHORT = {"stream.domains": "snow", "stream.per_class": 2, "regime.batch_size": 8}


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    return gotta.advise("resnet20", settings=SHORT, out=tmp_path_factory.mktemp("advise"))


def test_every_candidate_is_run_on_the_network_and_the_stream(measured):
    names = {one.run.spec.method.name for one in measured.candidates}
    assert {"source", "norm", "deskew", "tent", "sar", "lame", "rotta"} == names
    assert {one.run.stored.summary["stream"]["samples"] for one in measured.candidates} == {20}
    assert measured.source.passes == 1.0
    told = str(measured)
    assert told.startswith("gotta.adapt(net")
    assert "forwards for each sample" in told
    assert "Measured on 20 samples of cifar10-mini (snow-5) with resnet20" in told


def test_without_labels_signs_decide_and_their_worth_is_told(tmp_path):
    found = gotta.advise("resnet20", settings=SHORT, labels=False, out=tmp_path)
    told = str(found)
    assert "information" in told
    assert "agreement" in told
    assert "No sign is accuracy" in told
    assert "%" not in told


def test_a_folder_of_ones_own_is_shown_as_it_is(tmp_path):
    for name in "ab":
        (tmp_path / "photos" / name).mkdir(parents=True)
        for k in range(6):
            Image.new("RGB", (32, 32), (40 * k, 90, 30)).save(tmp_path / "photos" / name / f"{k}.png")
    data = {"name": "folder", "path": str(tmp_path / "photos"), "size": 32, "num_classes": 10}
    found = gotta.advise("resnet20", data, settings={"regime.batch_size": 4}, out=tmp_path / "runs")
    assert "12 samples of folder (clean)" in str(found)
    assert "close to chance (50.0 %)" in str(found), "grey images say nothing"


def test_classes_in_another_order_than_the_networks_are_suspected(measured):
    right, often = [0.0, 92.0, 0.0, 0.0, *[90.0] * 6], [10.0] * 10
    for hits, share, suspected in (
        (right, often, True),
        ([90.0] * 10, often, False),
        ([0.0, *[90.0] * 9], often, False),  # one hard class
        (right, [0.0, 30.0, 0.0, 0.0, 20.0, 10.0, 10.0, 10.0, 10.0, 10.0], False),  # never predicted: it collapsed
        ([None, 0.0, *[90.0] * 8], often, False),  # not in the stream
    ):
        source = made("none", "source", (60.0,) * 4, memory__capacity=None)
        source.stored.summary["online"] |= {"classes": hits, "predicted": share}
        source.stored.summary["stream"] = {**measured.source.run.stored.summary["stream"], "classes": 10}
        cost = {"predict": {"forwards": 10, "samples": 1000, "backwards": 0}}
        source.stored.summary["cost"] = cost
        told = str(Advice((Candidate(source),), float("inf"), True, "runs/advise"))
        assert ("class_index" in told) is suspected, (hits, told)
        assert ("classes 0, 2, 3, and is almost never right" in told) is suspected


def test_a_folder_needs_its_size_since_a_network_at_another_one_sees_nothing(tmp_path):
    for data in ("folder", {"name": "folder", "path": str(tmp_path)}):
        with pytest.raises(GottaError, match="the size of the images is missing"):
            gotta.advise("resnet20", data, out=tmp_path / "runs")


def test_where_every_candidate_fails_the_reason_is_said_and_not_a_budget(tmp_path, monkeypatch):
    failed = SimpleNamespace(runs=(), failures=(SimpleNamespace(message="the model gives NaN or infinite logits"),))
    monkeypatch.setattr("gotta.workflow.advice.bench", lambda *_, **__: failed)
    with pytest.raises(GottaError, match="every candidate failed, the first one so: the model gives NaN"):
        gotta.advise("resnet20", out=tmp_path)
