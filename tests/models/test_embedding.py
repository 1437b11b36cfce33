"""Models that give features only, with a frozen head of class embeddings."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import gotta
from gotta import GottaError, adapt
from gotta.models import Embedding, load

WIDTH, CLASSES = 12, 5


class Clip(nn.Module):
    """Like CLIP: an image tower with a projection, and a temperature; what it is called with is not images alone."""

    def __init__(self, norm=nn.LayerNorm):
        super().__init__()
        self.conv, self.scaled = nn.Conv2d(3, 16, 4, 4), norm(16)
        self.visual_projection = nn.Linear(16, WIDTH, bias=False)

    def encode_image(self, x):
        seen = self.conv(x).mean((2, 3)) if isinstance(self.scaled, nn.LayerNorm) else self.conv(x)
        seen = self.scaled(seen)
        return self.visual_projection(seen if seen.ndim == 2 else seen.relu().mean((2, 3)))

    def forward(self, images, texts):
        raise AssertionError("CLIP is not called with images alone")


def seeded(make):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().eval()


HEAD = torch.randn(CLASSES, WIDTH, generator=torch.Generator().manual_seed(1))
IMAGES = torch.rand(4, 8, 3, 8, 8, generator=torch.Generator().manual_seed(2))


def test_logits_are_the_scaled_cosine_or_the_inner_product() -> None:
    net = seeded(Clip)
    features = net.encode_image(IMAGES[0])
    cosine = F.normalize(features, dim=1) @ F.normalize(HEAD, dim=1).T
    assert torch.allclose(Embedding(net, HEAD, 100.0)(IMAGES[0]), 100 * cosine, atol=1e-4)
    assert torch.allclose(Embedding(net, HEAD)(IMAGES[0]), features @ HEAD.T, atol=1e-5)
    assert Embedding(net, HEAD).num_classes == CLASSES
    assert torch.equal(adapt(net, "source", head=HEAD, scale=100.0)(IMAGES[0]), Embedding(net, HEAD, 100.0)(IMAGES[0]))


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: (f, 1), lambda f: {"image_embeds": f, "loss": 0}])
def test_what_a_model_may_give(wrap) -> None:
    class Gives(nn.Module):
        def __init__(self):
            super().__init__()
            self.clip = seeded(Clip)

        def forward(self, x):
            return wrap(self.clip.encode_image(x))

    assert torch.equal(Embedding(Gives(), HEAD)(IMAGES[0]), Embedding(seeded(Clip), HEAD)(IMAGES[0]))


@pytest.mark.parametrize("method", [name for name in gotta.list_methods() if name not in ("norm", "foa")])
def test_methods_work_on_it_and_the_head_stays(method) -> None:
    taken = {} if method in ("source", "deskew", "cofa", "neo") else {"memory": "fps", "capacity": 8}
    fast = {"cotta": {"copies": 2}, "energy": {"steps": 2, "buffer_size": 40}}.get(method, {})
    model = adapt(seeded(Clip), method, head=HEAD, scale=20.0, **taken, **fast)
    logits = torch.cat([model(x) for x in IMAGES])
    assert logits.shape == (32, CLASSES)
    assert logits.isfinite().all()
    assert torch.equal(model.model.head.weight, F.normalize(HEAD, dim=1))


def test_the_cache_moves_predictions_towards_what_the_memory_holds() -> None:
    settings = {"head": HEAD, "scale": 20.0}
    plain, cached = adapt(seeded(Clip), "source", **settings), adapt(seeded(Clip), "cache", "cstu", 8, **settings)
    assert not torch.allclose(torch.cat([plain(x) for x in IMAGES]), torch.cat([cached(x) for x in IMAGES]))
    stored = adapt(seeded(Clip), "cache", "cstu", 8, embedding="features", **settings)
    again = adapt(seeded(Clip), "cache", "cstu", 8, **settings)
    for x in IMAGES:
        torch.testing.assert_close(stored(x), again(x), atol=1e-3, rtol=0)
    assert stored.memory.batch().embedding.shape[1] == WIDTH


def test_the_prior_of_deskew_follows_the_order_of_samples() -> None:
    model = adapt(seeded(Clip), head=HEAD, scale=5.0)
    label = model.step(IMAGES[0][:1]).prediction.label
    same = IMAGES[0][:1].expand(40, -1, -1, -1) + 0.01 * torch.rand(
        40, 3, 8, 8, generator=torch.Generator().manual_seed(3)
    )
    outcome = model.step(same)
    raw = outcome.prediction.raw
    assert outcome.prediction.probs[-1, label] > raw.probs[-1, label]
    assert any("its prior alone" in note for note in model.notes)


def test_class_statistics_work_where_the_image_tower_has_batch_norm() -> None:
    model = adapt(seeded(lambda: Clip(nn.BatchNorm2d)), head=HEAD, scale=20.0)
    model.method.statistics.away = True  # as after a change of domain
    before = model.method.statistics.state_dict()["var"]
    for x in IMAGES:
        model(x)
    assert not torch.equal(model.method.statistics.state_dict()["var"], before)


def test_it_is_saved_and_goes_on(tmp_path) -> None:
    model = adapt(seeded(Clip), "tent", "fifo", 8, head=HEAD, scale=20.0)
    model(IMAGES[0])
    model.save(tmp_path / "state")
    other = gotta.load(tmp_path / "state", seeded(Clip), head=HEAD)
    assert torch.equal(other(IMAGES[1]), model(IMAGES[1]))


@pytest.mark.parametrize(
    ("head", "scale", "words"),
    [
        (torch.zeros(3), None, "a matrix of finite numbers"),
        (torch.full((2, WIDTH), torch.nan), None, "a matrix of finite numbers"),
        ("clip", None, "a matrix of class embeddings"),
        (HEAD, 0.0, "scale must be a number above 0"),
        (None, 3.0, "there is none"),
        (HEAD[:, :4], None, r"Expected features \[B, 4\]"),
    ],
)
def test_a_head_that_does_not_fit_is_told(head, scale, words) -> None:
    with pytest.raises(GottaError, match=words):
        adapt(seeded(Clip), "source", head=head, scale=scale)(IMAGES[0])


def test_a_bundled_network_with_its_own_rows_as_embeddings() -> None:
    net = load("vit-mini")
    frozen, x = (
        load("vit-mini", head="classifier"),
        torch.rand(4, 3, 32, 32, generator=torch.Generator().manual_seed(0)),
    )
    assert torch.allclose(frozen(x), net(x) - net.head.bias, atol=1e-4)
    assert torch.equal(frozen.features(x), net.features(x))
