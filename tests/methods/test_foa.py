"""FOA gives what its authors' code gives on recorded populations, and works on transformers alone."""

import numpy as np
import pytest
import torch
from rivals import assert_same, published
from tiny import seeded_net

from gotta import adapt, list_memories
from gotta.errors import GottaError
from gotta.models import load
from gotta.models.backbone import Input
from gotta.models.vit import VisionTransformer

RECORDED = published("foa")
IMAGES = torch.from_numpy(RECORDED["images"]).float() / 255
CLEAN = IMAGES[:3].flatten(0, 1)


def transformer():
    net = VisionTransformer(4, 24, 3, 3, 2.0, 10, Input(16))
    names = [name for name in RECORDED.files if name.startswith("weights.")]
    net.load_state_dict({name[len("weights.") :]: torch.from_numpy(RECORDED[name]) for name in names})
    return net.eval()


def build(**settings):
    return adapt(transformer(), "foa", pairing="paper", num_classes=10, source_data=CLEAN, **settings)


def test_it_goes_where_published_code_goes() -> None:
    model = build(draws={"start": RECORDED["start"], "population": RECORDED["population"]})
    assert_same(model.method.source[0], RECORDED["source_mean"])
    assert_same(model.method.source[1], RECORDED["source_std"])
    for step, x in enumerate(IMAGES[3:]):
        outcome = model.step(x)
        assert outcome.diagnostics["loss"] == pytest.approx(RECORDED["losses"][step].min(), rel=1e-4)
        assert_same(outcome.prediction.logits, RECORDED["logits"][step], 2e-4)
        method = model.method
        assert_same(method.best.flatten(), RECORDED["best"][step], 1e-5)
        assert_same(method.mean, RECORDED["mean"][step], 1e-4)
        assert float(method.sigma) == pytest.approx(RECORDED["sigma"][step], rel=1e-4)
        assert_same(method.covariance.diagonal(), RECORDED["cov"][step], 1e-3)
    assert_same(torch.lerp(method.average, method.latest, 0.1), RECORDED["hist"][-1], 1e-4)


def test_it_makes_as_many_forwards_as_it_has_candidates() -> None:
    model = build(population=5)
    before = model.method.cost.summary()["total"]["forwards"]
    model.step(IMAGES[3])
    total = model.method.cost.summary()["total"]
    made = total["forwards"] - before
    assert made == 5 + 1 + 2, "the population, the best so far, and a prediction before and after"
    assert total["backwards"] == 0


def test_the_search_lowers_the_loss_of_one_batch_again_and_again() -> None:
    model = build()
    losses = [model.step(IMAGES[4]).diagnostics["loss"] for _ in range(12)]
    assert losses == sorted(losses, reverse=True), "the best prompts so far are always a candidate"
    assert losses[-1] < losses[0]


def test_reset_and_save_go_on_bit_for_bit(tmp_path) -> None:
    model = build(population=4, memory="fifo", capacity=16)
    first = [model.step(x).prediction.logits for x in IMAGES[3:6]]
    model.reset()
    again = [model.step(x).prediction.logits for x in IMAGES[3:6]]
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    other = build(population=4, memory="fifo", capacity=16)
    other.method.load_state_dict(model.method.state_dict())
    other.memory.load_state_dict(model.memory.state_dict())
    other.offered, other.turns, other.adaptations = model.offered, model.turns, model.adaptations
    assert torch.equal(other.step(IMAGES[6]).prediction.logits, model.step(IMAGES[6]).prediction.logits)


def test_it_works_on_the_bundled_transformer_and_says_what_clean_samples_are_for() -> None:
    model = adapt(load("vit-mini"), "foa", num_classes=10, population=4)
    x = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    before = load("vit-mini")(x)
    after = [model(x) for _ in range(3)][-1]
    assert not torch.allclose(before, after)
    assert any("goes by entropy alone" in note for note in model.notes)
    assert np.isfinite(after.numpy()).all()


def test_other_networks_are_refused() -> None:
    with pytest.raises(GottaError, match="vision transformer"):
        adapt(seeded_net(), "foa", num_classes=10)


@pytest.mark.parametrize("memory", [name for name in list_memories() if name != "none"])
def test_it_goes_with_any_memory(memory) -> None:
    model = build(population=3, memory=memory, capacity=12)
    logits = [model(x) for x in IMAGES[3:6]]
    assert torch.stack(logits).isfinite().all()
    assert model.adaptations > 0
