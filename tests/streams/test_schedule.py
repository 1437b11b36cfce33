"""Schedules and domain orders."""

import pytest

from gotta.errors import GottaError
from gotta.streams.schedule import (
    DOMAIN_ORDERS,
    ROTTA_ORDER,
    SCHEDULES,
    STANDARD_ORDER,
    continual,
    domain_order,
    gradual,
    mixed,
    one,
    recurring,
    require,
    resolve,
)


def test_named_orders_are_permutations_of_the_fifteen():
    assert list(DOMAIN_ORDERS) == ["standard", "rotta", *[f"rotta-{k}" for k in range(10)]]
    for name, order in DOMAIN_ORDERS.items():
        assert sorted(order) == sorted(STANDARD_ORDER), name
    assert len(set(DOMAIN_ORDERS.values())) == 11  # rotta is rotta-5
    assert len(STANDARD_ORDER) == 15


def test_rottas_order_is_number_five():
    assert DOMAIN_ORDERS["rotta-5"] == ROTTA_ORDER
    assert " ".join(ROTTA_ORDER) == (
        "motion_blur snow fog shot_noise defocus_blur contrast zoom_blur brightness frost elastic_transform glass_blur "
        "gaussian_noise pixelate jpeg_compression impulse_noise"
    )


@pytest.mark.parametrize(
    ("number", "first", "last"),
    [
        (0, "brightness pixelate gaussian_noise", "snow fog contrast"),
        (1, "jpeg_compression shot_noise zoom_blur", "pixelate snow motion_blur"),
        (2, "contrast defocus_blur gaussian_noise", "impulse_noise motion_blur fog"),
        (3, "shot_noise fog glass_blur", "motion_blur jpeg_compression zoom_blur"),
        (4, "pixelate glass_blur zoom_blur", "contrast defocus_blur elastic_transform"),
        (6, "frost impulse_noise jpeg_compression", "shot_noise fog gaussian_noise"),
        (7, "defocus_blur motion_blur zoom_blur", "brightness elastic_transform impulse_noise"),
        (8, "glass_blur zoom_blur impulse_noise", "pixelate defocus_blur elastic_transform"),
        (9, "contrast gaussian_noise defocus_blur", "snow motion_blur brightness"),
    ],
)
def test_numbered_orders(number, first, last):
    order = DOMAIN_ORDERS[f"rotta-{number}"]
    assert " ".join(order[:3]) == first
    assert " ".join(order[-3:]) == last


def test_explicit_orders():
    assert domain_order("snow, fog") == domain_order(["snow", "fog"]) == ("snow", "fog")
    with pytest.raises(GottaError, match=r"domain order 'standrd' is unknown\. Did you mean 'standard'"):
        domain_order("standrd")


def test_names_get_the_severity_unless_the_data_set_knows_them():
    available = ["snow-3", "fog-3", "snow-5", "clean"]
    assert resolve(available, ["snow", "fog"], 3) == ("snow-3", "fog-3")
    assert resolve(available, "standard", 3, domains="clean,snow,snow-5") == ("clean", "snow-3", "snow-5")
    assert resolve(available, "dataset", 5) == tuple(available)
    assert resolve(available, "standard", 2)[0] == "gaussian_noise-2"


def test_missing_domains_are_named_together():
    require(["snow-5"], ["snow-5"])
    with pytest.raises(GottaError, match=r"domain 'snow-4' is unknown.*snow-5.*Also missing: rain-4.*dataset"):
        require(["snow-4", "snow-5", "rain-4", "snow-4"], ["snow-5", "fog-5"])


def test_schedules():
    assert continual(["a-5", "b-5"]) == [("a-5",), ("b-5",)]
    assert one(["a-5"]) == [("a-5",)]
    assert mixed(["a-5", "b-5"]) == [("a-5", "b-5")]
    assert recurring(["a-5", "b-5"], 2) == [("a-5",), ("b-5",), ("a-5",), ("b-5",)]
    assert SCHEDULES.names() == ["cdc", "continual", "gradual", "mixed", "one", "recurring", "walk"]


def test_gradual_rises_and_falls():
    found = [pool for pool in gradual(["snow-5", "fog-2"])]
    up_and_down = [1, 2, 3, 4, 5, 4, 3, 2, 1]
    assert found == [(f"snow-{s}",) for s in up_and_down] + [(f"fog-{s}",) for s in (1, 2, 1)]
    with pytest.raises(GottaError, match=r"needs a severity.*got 'clean'"):
        gradual(["clean"])


def test_one_needs_one():
    with pytest.raises(GottaError, match="visits one domain, got 2"):
        one(["a-5", "b-5"])
