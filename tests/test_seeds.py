"""One run seed, many independent generators, the same on every machine."""

import numpy as np
import pytest
import torch

from gotta.seeds import child_seed, generator, legacy_generator, torch_generator

MAKERS = {
    "new": lambda seed, name: generator(seed, name).random(4).tolist(),
    "legacy": lambda seed, name: legacy_generator(seed, name).random_sample(4).tolist(),
    "torch": lambda seed, name: torch.rand(4, generator=torch_generator(seed, name)).tolist(),
}


def test_pinned_values():
    """Published results depend on these: they must never change."""
    assert child_seed(0, "stream").generate_state(2).tolist() == [2553874540, 3240486974]
    assert generator(0, "stream").integers(0, 1000, 5).tolist() == [676, 893, 617, 672, 179]
    assert generator(7, "memory").integers(0, 1000, 5).tolist() == [605, 64, 431, 113, 690]
    assert legacy_generator(0, "stream").randint(0, 1000, 5).tolist() == [719, 354, 594, 75, 907]
    assert torch_generator(0, "init").initial_seed() == 7290039654019473914


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_same_seed_and_name_same_numbers(make):
    assert make(3, "stream") == make(3, "stream")


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_other_name_or_seed_other_numbers(make):
    drawn = [make(seed, name) for seed in (0, 1, 2**40) for name in ("stream", "memory", "augment", "method")]
    assert len({tuple(numbers) for numbers in drawn}) == len(drawn)


def test_named_generators_are_independent():
    drawn = np.array([generator(0, name).standard_normal(20_000) for name in ("stream", "memory", "augment", "method")])
    drawn = np.concatenate([drawn, [generator(1, "stream").standard_normal(20_000)]])
    correlation = np.corrcoef(drawn) - np.eye(5)
    assert np.abs(correlation).max() < 0.04


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_global_randomness_is_left_alone(make):
    torch_before = torch.random.get_rng_state()
    numpy_before = np.random.get_state()[1].copy()  # noqa: NPY002 - to see that nobody touches it
    make(0, "stream")
    assert torch.equal(torch.random.get_rng_state(), torch_before)
    assert np.array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002


def test_drawing_from_one_does_not_move_another():
    memory, stream = generator(0, "memory"), generator(0, "stream")
    expected = generator(0, "stream").random(3)
    memory.random(100)
    assert np.array_equal(stream.random(3), expected)
