"""DeYO beside its published code."""

from math import exp, log

import pytest
import torch
from rivals import STREAM, assert_same, assert_same_parameters, build, published, run

from gotta import GottaError

AUTHORS = {"lr": 5e-3, "optimizer": "sgd"}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("deyo_patch", {}),
        ("deyo_occlusion", {"destroy": "occlusion"}),
        ("deyo_pixel", {"destroy": "pixels"}),
        ("deyo_plain", {"weighting": False}),
    ],
)
def test_the_published_trajectory(name, settings):
    recorded, model = published(name), build("deyo", **AUTHORS, **settings)
    model.method.generators["method"].manual_seed(7)  # what the published run drew from
    logits, measured = run(model)
    for count in ("kept1", "kept2"):
        assert [seen[count] for seen in measured] == recorded[count].tolist()
    assert_same(logits, recorded["logits"], 2e-4)
    assert_same_parameters(model, recorded, 2e-5)


def test_a_sample_is_kept_if_its_class_needs_the_shape():
    model = build("deyo", e_margin=9.0, augment=lambda x: x)
    assert model.step(STREAM[0]).diagnostics == {"kept1": 32, "kept2": 0}  # nothing changes, so nothing drops
    model = build("deyo", e_margin=9.0, augment=torch.zeros_like, plpd_threshold=0.0)
    assert model.step(STREAM[0]).diagnostics["kept2"] == 32


def test_weights_grow_with_certainty_and_drop():
    model, x = build("deyo", e_margin=9.0, augment=torch.zeros_like), STREAM[0][:2]
    logits = model.method.training_logits(x).detach()
    drop = model.method.drop(x, logits)
    entropies = -(logits.softmax(1) * logits.log_softmax(1)).sum(1)
    expected = [
        h * (exp(0.4 * log(10) - h) + exp(d)) for h, d in zip(entropies.tolist(), drop.tolist(), strict=True) if d > 0.2
    ]
    assert expected
    assert model.step(x).diagnostics["loss"] == pytest.approx(sum(expected) / len(expected), rel=1e-4)


def test_an_unknown_way_to_destroy_is_told():
    with pytest.raises(GottaError, match="patches"):
        build("deyo", destroy="patch")
