"""One run seed gives independent, named random generators; nothing in gotta uses global randomness."""

from zlib import crc32

import numpy as np
import torch


def child_seed(seed: int, name: str) -> np.random.SeedSequence:
    """The seed of the generator called `name` in the run with this seed: the same on every machine."""
    return np.random.SeedSequence([seed, crc32(name.encode())])


def generator(seed: int, name: str) -> np.random.Generator:
    return np.random.default_rng(child_seed(seed, name))


def legacy_generator(seed: int, name: str) -> np.random.RandomState:
    """The old NumPy generator, for orders that must equal published ones draw for draw."""
    return np.random.RandomState(child_seed(seed, name).generate_state(4))


def torch_generator(seed: int, name: str, device: torch.device | str = "cpu") -> torch.Generator:
    words = child_seed(seed, name).generate_state(1, np.uint64)
    return torch.Generator(device).manual_seed(int(words[0]) >> 1)
