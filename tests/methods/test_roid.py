"""ROID beside its published code, and its parts one by one."""

import pytest
import torch
from rivals import STREAM, assert_same, assert_same_parameters, build, published, run
from tiny import seeded_net

from gotta.methods.parts.losses import soft_likelihood_ratio
from gotta.methods.roid import stretch

FLIP = {"augment": lambda x: x.flip(3)}


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("roid", {"quirks": "published", **FLIP}),
        ("roid_slr", {"consistency": False, "prior_correction": False}),
    ],
)
def test_the_published_trajectory(name, settings):
    recorded, model = published(name), build("roid", **settings)
    logits, measured = run(model)
    assert_same(logits, recorded["logits"])
    assert_same([seen["loss"] for seen in measured], recorded["losses"], 1e-5)
    assert_same(model.method.mean_probs, recorded["mean_probs"][-1], 1e-5)
    assert_same_parameters(model, recorded)


def test_the_correction_multiplies_probabilities_unless_the_quirk_is_asked_for():
    sound, plain = build("roid", **FLIP), build("roid", prior_correction=False, **FLIP)
    got, own = sound.step(STREAM[0]).prediction, plain.step(STREAM[0]).prediction
    prior = own.probs.mean(0)
    smooth = 0.1 / prior.max()
    expected = own.probs * (prior + smooth) / (1 + 10 * smooth)
    torch.testing.assert_close(got.probs, expected / expected.sum(1, keepdim=True))
    torch.testing.assert_close(got.raw.logits, own.logits)
    assert not torch.allclose(got.logits, torch.from_numpy(published("roid")["logits"][0]), atol=1e-2)


def test_after_each_step_parameters_go_back_by_a_hundredth():
    near, free = (build("roid", momentum=momentum, **FLIP) for momentum in (0.99, 1.0))
    source = near.model.bn1.weight.clone()
    near(STREAM[0])
    free(STREAM[0])
    torch.testing.assert_close(near.model.bn1.weight, 0.99 * free.model.bn1.weight + 0.01 * source)


def test_what_resembles_the_average_prediction_weighs_nothing():
    method = build("roid").method
    logits = torch.tensor([[9.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.1, 0.0, 0.1], [0.0, 0.0, 0.0]])
    weight = method.weigh(logits)
    assert weight[0] == weight.max() == pytest.approx(torch.tensor(3.0).exp().item())
    assert weight[2:].tolist() == [0, 0]
    torch.testing.assert_close(method.mean_probs, 0.9 / 3 + 0.1 * logits.softmax(1).mean(0))


def test_equal_samples_all_weigh_one():
    assert stretch(torch.ones(3)).tolist() == [0, 0, 0]
    assert build("roid").method.weigh(torch.ones(3, 10)).tolist() == [1, 1, 1]


def test_the_likelihood_ratio_stays_finite_for_a_saturated_row():
    logits = torch.tensor([[1e4, 0.0, 0.0]], requires_grad=True)
    loss = soft_likelihood_ratio(logits)
    assert loss.item() == pytest.approx(-0.99 * torch.tensor(99.0).log().item(), abs=1e-4)
    loss.sum().backward()
    assert logits.grad.isfinite().all()


def test_a_single_sample_keeps_its_class():
    net = seeded_net(lambda channels: torch.nn.GroupNorm(4, channels))
    model = build("roid", net, **FLIP)
    for x in torch.rand(4, 1, 3, 8, 8, generator=torch.Generator().manual_seed(0)):
        prediction = model.step(x).prediction
        assert prediction.label == prediction.raw.label
