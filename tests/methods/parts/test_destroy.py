import pytest
import torch

from gotta.methods.deyo import destroy


def images(*shape):
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0))


def draws():
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("how", ["patches", "pixels"])
def test_a_shuffled_image_has_the_same_pixels_elsewhere(how):
    x = images(3, 2, 8, 12)
    out = destroy(x, how, draws())
    assert out.shape == x.shape
    assert not torch.equal(out, x)
    torch.testing.assert_close(out.flatten(2).sort(-1).values, x.flatten(2).sort(-1).values)


def test_patches_stay_whole_and_each_image_has_its_own_order():
    x = torch.arange(16.0).reshape(1, 1, 4, 4).repeat_interleave(2, 2).repeat_interleave(2, 3).repeat(2, 1, 1, 1)
    out = destroy(x, "patches", draws())
    blocks = out.unfold(2, 2, 2).unfold(3, 2, 2).flatten(4)
    assert torch.equal(blocks.amin(-1), blocks.amax(-1))
    assert not torch.equal(out[0], out[1])


def test_a_painted_image_keeps_its_edge_and_its_mean_colour():
    x = images(2, 3, 8, 8)
    out = destroy(x, "occlusion", draws())
    assert torch.equal(out[:, :, :2], x[:, :, :2])
    torch.testing.assert_close(out[:, :, 2:6, 2:6], x.mean((2, 3), keepdim=True).expand(-1, -1, 4, 4))


@pytest.mark.parametrize("shape", [(3, 2, 7, 10), (3, 2, 3, 3), (3, 6), (3, 2, 9), (3, 2, 4, 4, 4)])
@pytest.mark.parametrize("how", ["patches", "pixels", "occlusion"])
def test_any_samples_keep_their_shape(shape, how):
    out = destroy(images(*shape), how, draws())
    assert out.shape == shape
    assert out.isfinite().all()
