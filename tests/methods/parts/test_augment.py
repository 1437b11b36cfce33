"""The random augmentation of CoTTA and RoTTA."""

import colorsys

import pytest
import torch
from torch.nn import functional as F

from gotta.methods.parts import augment as augmenting
from gotta.methods.parts.augment import (
    augment_copy,
    blur,
    brightness,
    contrast,
    gamma,
    hue,
    random_augmentation,
    saturation,
    warp,
)


def images(size=4, side=12, channels=3, seed=0):
    return torch.rand(size, channels, side, side, generator=torch.Generator().manual_seed(seed))


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_gives_images_of_the_same_shape_in_range(channels):
    x = images(channels=channels)
    for seed in range(10):
        y = random_augmentation(x, drawn(seed))
        assert y.shape == x.shape
        assert 0 <= y.min() <= y.max() <= 1
        assert not torch.allclose(x, y, atol=0.01)


def test_the_generator_decides():
    x = images()
    assert torch.equal(random_augmentation(x, drawn(1)), random_augmentation(x, drawn(1)))
    assert not torch.equal(random_augmentation(x, drawn(1)), random_augmentation(x, drawn(2)))
    rng = drawn(1)
    assert not torch.equal(random_augmentation(x, rng), random_augmentation(x, rng))


def test_one_draw_for_the_whole_batch():
    x = images(1).expand(5, -1, -1, -1)
    y = random_augmentation(x, drawn(3))
    assert (y - y[:1]).abs().max() < 0.08  # they differ by the noise of each pixel alone
    assert not torch.equal(y[0], y[1])


def test_the_input_is_left_alone():
    x = images()
    before = x.clone()
    random_augmentation(x, drawn())
    assert torch.equal(x, before)


def test_another_range_is_mapped_there_and_back():
    x = 4 * images() - 2
    y = random_augmentation(x, drawn(5))
    low, high = float(x.min()), float(x.max())
    expected = random_augmentation((x - low) / (high - low), drawn(5)) * (high - low) + low
    torch.testing.assert_close(y, expected, atol=1e-5, rtol=1e-5)
    assert y.std() > 0.5


def test_hue_turns_the_colour_wheel():
    x = images(2, 4)
    for turn in (-0.06, 0.0, 0.06, 0.3):
        y = hue(x, turn)
        for pixel, found in zip(
            x.permute(0, 2, 3, 1).reshape(-1, 3), y.permute(0, 2, 3, 1).reshape(-1, 3), strict=True
        ):
            h, s, v = colorsys.rgb_to_hsv(*pixel.tolist())
            assert found.tolist() == pytest.approx(colorsys.hsv_to_rgb((h + turn) % 1, s, v), abs=1e-5)


def test_hue_of_grey_and_of_single_channels_stays():
    grey = torch.full((1, 3, 2, 2), 0.4)
    torch.testing.assert_close(hue(grey, 0.05), grey)
    assert torch.equal(hue(images(channels=1), 0.05), images(channels=1))


def test_colours_by_hand():
    x = torch.tensor([0.2, 0.4, 0.8]).reshape(1, 3, 1, 1)
    assert brightness(x, 2.0).flatten().tolist() == pytest.approx([0.4, 0.8, 1.0])
    assert gamma(x, 2.0).flatten().tolist() == pytest.approx([0.04, 0.16, 0.64])
    grey = 0.2989 * 0.2 + 0.587 * 0.4 + 0.114 * 0.8
    assert saturation(x, 0.0).flatten().tolist() == pytest.approx([grey] * 3)
    assert contrast(x, 0.5).flatten().tolist() == pytest.approx([(value + grey) / 2 for value in (0.2, 0.4, 0.8)])


def test_a_warp_by_nothing_is_the_image_with_its_edge_repeated(monkeypatch):
    monkeypatch.setattr("gotta.methods.parts.augment._uniform", lambda low, high, generator: (low + high) / 2)
    x = images()
    torch.testing.assert_close(warp(x, drawn()), F.pad(x, (2, 2, 2, 2), "replicate"), atol=1e-5, rtol=1e-5)


def test_a_shift_moves_whole_pixels(monkeypatch):
    draws = iter([0.0, 1.0, 0.0, 1.0])  # angle, across, down, scale
    monkeypatch.setattr("gotta.methods.parts.augment._uniform", lambda low, high, generator: next(draws))
    x = images(side=16)
    moved = warp(x, drawn())[:, :, 2:-2, 2:-2]
    torch.testing.assert_close(moved[..., 1:], x[..., :-1], atol=1e-5, rtol=1e-5)


def test_equals_padding_warping_and_cropping(monkeypatch):
    """The published order of steps: pad by half the size, warp, crop."""
    x = images(side=16)
    padded = F.pad(x, (8, 8, 8, 8), "replicate")
    for draw in ((15, 2, -2, 0.9), (-15, -2, 2, 1.1), (4, 1, 0, 0.97)):  # angle, across, down, scale
        draws = iter(draw * 2)
        monkeypatch.setattr(
            "gotta.methods.parts.augment._uniform", lambda low, high, generator, draws=draws: next(draws)
        )
        mine, whole = (warp(image, drawn())[:, :, 2:-2, 2:-2] for image in (x, padded))
        torch.testing.assert_close(mine, whole[:, :, 8:-8, 8:-8], atol=1e-4, rtol=1e-4)


def test_blur_keeps_brightness_and_uses_up_the_border():
    x = torch.full((2, 3, 9, 9), 0.3)
    y = blur(x, drawn())
    assert y.shape == (2, 3, 5, 5)
    torch.testing.assert_close(y, torch.full_like(y, 0.3))


def test_three_ways_to_give_copies():
    x = images()
    turns = [lambda x: x, lambda x: x.flip(3)]
    assert torch.equal(augment_copy(x, 7, lambda x: x.flip(3), drawn()), x.flip(3))
    assert torch.equal(augment_copy(x, 2, lambda x, copy: x + copy, drawn()), x + 2)
    assert torch.equal(augment_copy(x, 4, turns, drawn()), x)
    assert torch.equal(augment_copy(x, 5, turns, drawn()), x.flip(3))
    assert torch.equal(augment_copy(x, 0, None, drawn(3)), random_augmentation(x, drawn(3)))


@pytest.fixture
def asked(monkeypatch):
    """The ranges that are drawn from, each by its middle."""
    ranges = []

    def middle(low, high, generator):
        ranges.append((low, high))
        return (low + high) / 2

    monkeypatch.setattr(augmenting, "_uniform", middle)
    return ranges


def test_turns_and_shifts_are_drawn_from_the_published_ranges(asked):
    warp(torch.rand(2, 3, 32, 16), drawn())
    degrees, zoom = (-15, 15), (0.9, 1.1)
    assert asked == [degrees, (-2, 2), (-4, 4), zoom]  # an eighth of the width and of the height


def test_colours_blur_and_flip_are_drawn_from_the_published_ranges(asked):
    """CoTTA's get_tta_transforms, in its stronger form, which RoTTA took over."""
    random_augmentation(images(), drawn())
    published = {
        "brightness": (0.6, 1.4),
        "contrast": (0.7, 1.3),
        "saturation": (0.5, 1.5),
        "hue": (-0.06, 0.06),
        "gamma": (0.7, 1.3),
    }
    assert asked[:5] == list(published.values())
    assert asked[-2:] == [(0.001, 0.5), (0, 1)]  # the width of the blur; heads or tails


def test_half_of_the_batches_are_flipped_and_pixels_have_a_noise_of_a_two_hundredth(monkeypatch):
    monkeypatch.setattr(augmenting, "colours", lambda x, generator: x)
    monkeypatch.setattr(augmenting, "warp", lambda x, generator: x)
    monkeypatch.setattr(augmenting, "blur", lambda x, generator: x)
    x, generator = torch.linspace(0.2, 0.8, 32).expand(1, 3, 32, 32), drawn()
    changed = [random_augmentation(x, generator) for _ in range(200)]
    flipped = [bool(y[..., 0].mean() > 0.5) for y in changed]
    assert 80 < sum(flipped) < 120
    noise = torch.stack([y - (x.flip(3) if turned else x) for y, turned in zip(changed, flipped, strict=True)])
    assert float(noise.std()) == pytest.approx(0.005, rel=0.02)


def test_a_turn_is_a_turn(monkeypatch):
    """By 90 degrees, which are easy to see: no shift, no zoom, nothing mirrored."""
    drawn = iter([90.0, 0.0, 0.0, 1.0])
    monkeypatch.setattr("gotta.methods.parts.augment._uniform", lambda low, high, generator: next(drawn))
    x = torch.rand(2, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    turned = warp(x, torch.Generator())[:, :, 2:-2, 2:-2]
    torch.testing.assert_close(turned, x.rot90(-1, (2, 3)), atol=1e-5, rtol=0)
