import numpy as np
import pytest
from scipy import stats

from gotta.data.corruptions import noise
from gotta.data.corruptions.draws import Draws


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def draws(count=2, name="test", severity=1, seed=0):
    return Draws(seed, name, severity, np.arange(count))


def test_noise_tables_are_the_published_formulas(rng):
    """Each row of the table against a simulation of the formula for one value."""
    count, value = 200_000, 60
    x = np.full(count, value) / 255.0
    formulas = {
        ("gaussian", 0.1): x + rng.normal(size=count, scale=0.1),
        ("speckle", 0.6): x + x * rng.normal(size=count, scale=0.6),
        ("shot", 5): rng.poisson(x * 5) / 5,
    }
    for (kind, strength), simulated in formulas.items():
        seen = np.bincount((np.clip(simulated, 0, 1) * 255).astype(np.uint8), minlength=256) / count
        np.testing.assert_allclose(getattr(noise, f"_{kind}_table")(strength)[value], seen, atol=0.004)
    impulse = noise._impulse_table(0.27)[value]
    np.testing.assert_allclose(impulse[[0, value, 255]], [0.135, 0.73, 0.135])


@pytest.mark.parametrize(("kind", "strength"), [("gaussian", 0.1), ("shot", 500), ("impulse", 0.07), ("speckle", 0.2)])
def test_alias_tables_keep_the_probabilities(kind, strength):
    make = getattr(noise, f"_{kind}_table")
    table = make(strength)
    np.testing.assert_allclose(table.sum(1), 1)
    threshold, other = noise._sampler(make, strength)
    keep = threshold.reshape(256, 256) / 2**24
    back = keep / 256
    for row, alias in enumerate(other.reshape(256, 256)):
        np.add.at(back[row], alias, (1 - keep[row]) / 256)
    np.testing.assert_allclose(back, table, atol=1e-7)


def test_noise_reaches_every_value_independently():
    images = np.full((1, 64, 64, 3), 100, np.uint8)
    out = noise.gaussian_noise(images, (0.1,), draws(1)).astype(float)
    assert abs(np.corrcoef(out[0, ..., 0].ravel(), out[0, ..., 1].ravel())[0, 1]) < 0.06
    assert stats.kstest((out.ravel() + 0.5 - 100) / 25.5, "norm").statistic < 0.02
