"""The small vision transformer: timm's key names, its count by hand, and what positions do."""

import pytest
import torch
from torch import nn

from gotta.errors import GottaError
from gotta.models import Input, architectures
from gotta.models.vit import HALF, VisionTransformer

LAYER = ("norm1", "attn.qkv", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2")


def model(**arguments):
    torch.manual_seed(0)
    return architectures.build("vit-mini", **arguments).eval()


def images(count):
    return torch.rand(count, 3, 32, 32, generator=torch.Generator().manual_seed(0))


def test_keys_are_timms_but_for_the_stem():
    expected = {"cls_token", "pos_embed"} | {
        f"{part}.{kind}"
        for part in (
            *(f"patch_embed.convs.{i}" for i in range(3)),
            "norm",
            "head",
            *(f"blocks.{i}.{name}" for i in range(6) for name in LAYER),
        )
        for kind in ("weight", "bias")
    }
    assert set(model().state_dict()) == expected


def test_parameter_count_by_hand():
    width, hidden, tokens = 96, 192, 17
    layer = 4 * width + (width + 1) * 3 * width + (width + 1) * width + (width + 1) * hidden + (hidden + 1) * width
    stem = sum((before * 9 + 1) * after for before, after in [(3, 32), (32, 64), (64, 96)])
    total = 6 * layer + stem + width + tokens * width + 2 * width + (width + 1) * 10
    assert sum(parameter.numel() for parameter in model().parameters()) == total == 526_378


def test_layer_norm_is_the_only_normalisation():
    norms = [module for module in model().modules() if "Norm" in type(module).__name__]
    assert len(norms) == 13
    assert all(isinstance(module, nn.LayerNorm) for module in norms)


def test_shapes():
    net = model(num_classes=5)
    assert net.patch_embed(images(2)).shape == (2, 96, 4, 4)
    assert net.features(images(2)).shape == (2, 96)
    assert net(images(2)).shape == (2, 5)


def shuffled_patches(x, order):
    """Move 4x4 patches to new places: patch i of the result is patch order[i]."""
    patches = x.view(len(x), 3, 8, 4, 8, 4).permute(0, 2, 4, 1, 3, 5).reshape(len(x), 64, 3, 4, 4)[:, order]
    return patches.view(len(x), 8, 8, 3, 4, 4).permute(0, 3, 1, 4, 2, 5).reshape(len(x), 3, 32, 32)


def test_patches_are_known_by_their_positions_alone():
    net, x = VisionTransformer(4, 96, 6, 4, 2.0, 10, HALF).eval(), images(2)
    order = torch.randperm(64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        expected = net(x)
        moved = shuffled_patches(x, order)
        assert not torch.allclose(net(moved), expected, atol=1e-5)
        net.pos_embed[:, 1:] = net.pos_embed[:, 1:][:, order]
        torch.testing.assert_close(net(moved), expected, rtol=1e-4, atol=1e-5)


def test_attention_agrees_with_the_formula():
    attention, x = model().blocks[0].attn, torch.randn(2, 5, 96, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        q, k, v = attention.qkv(x).split(96, dim=2)
        heads = []
        for head in range(4):
            part = slice(24 * head, 24 * head + 24)
            weight = (q[..., part] @ k[..., part].transpose(1, 2) / 24**0.5).softmax(-1)
            heads.append(weight @ v[..., part])
        expected = attention.proj(torch.cat(heads, 2))
        torch.testing.assert_close(attention(x), expected, rtol=1e-4, atol=1e-5)


def test_other_sides_have_their_own_number_of_positions():
    net = model(input=Input(64, (0.5,) * 3, (0.5,) * 3))
    assert net.pos_embed.shape == (1, 65, 96)
    assert net(torch.rand(1, 3, 64, 64)).shape == (1, 10)


def test_side_that_is_no_multiple_of_a_patch():
    with pytest.raises(GottaError, match=r"side 30 .* multiple of 8"):
        model(input=Input(30))


def test_image_of_another_side():
    with pytest.raises(GottaError, match=r"24 x 24.*takes 32 x 32"):
        model()(torch.rand(1, 3, 24, 24))
