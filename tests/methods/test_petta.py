"""PeTTA beside its published code."""

import pytest
import torch
from rivals import COMMON, STREAM, assert_same, assert_same_state, build, published, run

CLEAN = torch.from_numpy(COMMON["clean_u8"]).float() / 255
PUBLISHED = {"memory": "cstu", "capacity": 32, "augment": lambda x: x.flip(3)}


@pytest.mark.parametrize(("name", "symmetric"), [("petta", True), ("petta_ce", False)])
def test_the_published_trajectory(name, symmetric):
    recorded = published(name)
    model = build("petta", source_data=CLEAN, symmetric=symmetric, **PUBLISHED)
    logits, measured = run(model)
    assert_same([seen["strayed"] for seen in measured], recorded["strayed"], 1e-5)
    assert_same(logits, recorded["logits"], 2e-4)
    assert_same(model.method.centres, recorded["centres"], 1e-4)
    assert_same_state(model.method.model, recorded, "student", 4, 5e-5)
    assert_same_state(model.method.teacher, recorded, "teacher", 4, 5e-5)


def test_features_that_are_given_serve_as_well_as_samples():
    measured = build("petta", source_data=CLEAN, **PUBLISHED)
    features = dict(zip(("mean", "var"), measured.method.source, strict=True))
    given = build("petta", source_features=features, **PUBLISHED)
    assert torch.equal(run(measured, STREAM[:3])[0], run(given, STREAM[:3])[0])


def test_without_clean_samples_it_says_so_and_is_held_at_full_strength():
    model = build("petta", **PUBLISHED)
    assert "source_data" in model.method.notes[0]
    assert "strayed" not in model.step(STREAM[0]).diagnostics
    assert build("petta", source_data=CLEAN, **PUBLISHED).method.notes == []


def test_a_class_without_clean_samples_is_left_out_of_the_measure():
    method = build("petta", source_data=CLEAN[:3], **PUBLISHED).method
    assert method.source[0].isnan().any()
    method.predict(STREAM[0])
    assert 0 <= method.stray() <= 1


def test_a_class_without_clean_samples_keeps_no_step_from_being_taken():
    model = build("petta", source_data=CLEAN[:3], **PUBLISHED)
    seen = [model.step(x).diagnostics for x in STREAM[:3]]
    assert model.adaptations == 3
    assert all(0 <= step["strayed"] <= 1 for step in seen)
    assert model.method.centres.isfinite().all()
