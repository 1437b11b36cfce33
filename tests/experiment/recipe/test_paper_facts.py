"""Every recipe of the paper has the settings that the paper states: tables cell by cell, figures by their captions."""

from collections import Counter

import pytest

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.best_rates import best_rates
from gotta.report.paper.numbers import tables
from gotta.streams.schedule import DOMAIN_ORDERS

PRACTICAL = "motion_blur snow fog shot_noise defocus_blur contrast zoom_blur brightness frost elastic_transform"
PRACTICAL += " glass_blur gaussian_noise pixelate jpeg_compression impulse_noise"  # RoTTA's configuration of CIFAR
USUAL = "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog"
USUAL += " brightness contrast elastic_transform pixelate jpeg_compression"
SIZES = {8, 16, 32, 64}
CONTINUAL, EPISODIC = {"never"}, {"each_domain"}
# The data, the capacities, the concentrations, the resets and the thresholds; {None}: not varied, so the default 0.005.
FACTS = {
    "table1": ("cifar10_c", {32}, {0.1}, CONTINUAL, {None}),
    "table2": ("cifar10_c", SIZES, {0.1}, CONTINUAL, {None}),
    "table3": ("imagenet_c", {64}, {0.1, 1e-4}, EPISODIC, {None}),
    "itd": ("itd", {32}, {0.1}, EPISODIC, {None}),
    "table-m64": ("cifar10_c", {64}, {0.1}, CONTINUAL, {None}),
    "table-vit": ("imagenet_c", {64}, {0.1}, EPISODIC, {None}),
    "epsilon": ("cifar10_c", {32, 64}, {0.1}, CONTINUAL | EPISODIC, {None, 0.001, 0.005, 0.01}),
    "capacity": ("cifar10_c", SIZES, {0.1}, CONTINUAL, {None}),
    "settings": ("cifar10_c", {32}, {0.1}, CONTINUAL | EPISODIC, {None}),
}
TABLES = {
    "table1": "table1",
    "table2": "table2",
    "table3": "table3",
    "table-m64": "table_m64",
    "table-vit": "table_vit",
}


def runs(name):
    weights = {} if name == "itd" else {"model": {"weights": "random"}}
    return [spec for spec in load_recipe(name).runs(seeds=[0], **weights) if not spec.control]


@pytest.mark.parametrize("name", FACTS)
def test_settings_are_the_papers(name):
    data, sizes, gammas, resets, thresholds = FACTS[name]
    specs = runs(name)
    with_memory = [spec for spec in specs if spec.has_memory]
    assert {spec.data.name for spec in specs} == {data}
    assert {spec.memory.capacity for spec in with_memory} == sizes
    assert {spec.stream["gamma"] for spec in specs} == gammas
    assert {spec.regime.reset for spec in specs} == resets
    assert {spec.memory.arguments.get("epsilon") for spec in with_memory} == thresholds
    assert {spec.stream["severity"] for spec in specs} == {5}
    assert {spec.regime.batch_size for spec in specs} == sizes | ({64} if len(with_memory) < len(specs) else set())
    assert {spec.stream["order"] for spec in specs} == {"dirichlet"} | ({"iid"} if name == "settings" else set())
    order = "rotta" if data == "cifar10_c" else "standard"
    assert {spec.stream["domain_order"] for spec in specs} == {order}
    assert {spec.pairing for spec in specs} == {"paper"}


@pytest.mark.parametrize("name", TABLES)
def test_cells_are_those_of_the_printed_table(name):
    """Each printed number has the one cell that would give it; a row without a memory stands for every capacity."""

    def settled(memory, capacity):
        return None if memory == "none" else capacity

    printed = [cell for cell in tables()[TABLES[name]].cells if cell.data != "itd"]
    cells = {(c.method, c.memory, settled(c.memory, c.capacity), c.gamma, c.reset) for c in printed}
    ours = Counter(
        (s.method.name, s.memory.name, settled(s.memory.name, s.memory.capacity), s.stream["gamma"], s.regime.reset)
        for s in runs(name)
    )
    assert ours.keys() == cells
    assert set(ours.values()) == {1}


def test_the_orders_of_the_domains_are_the_published_ones():
    assert DOMAIN_ORDERS["rotta"] == tuple(PRACTICAL.split())
    assert DOMAIN_ORDERS["standard"] == tuple(USUAL.split())


@pytest.mark.parametrize("name", [*FACTS, "controls", "statistics", "long", "signs", "full", "mini"])
def test_the_control_has_the_rate_of_the_memory_rows(name):
    found = {}
    weights = {} if name in ("itd", "long", "signs", "full", "mini") else {"model": {"weights": "random"}}
    for spec in load_recipe(name).runs(seeds=[0], **weights):
        if spec.control == "running_statistics":
            assert (spec.method.statistics, spec.method.fed_by) == ("running", "batch")
            found.setdefault(spec.method.name, set()).add(spec.method.rate)
    swept = {0.01, 0.02, 0.05, 0.1, 0.2}
    for method, rates in found.items():
        paper = {0.01 if method == "note" else 0.05}
        own = best_rates().get((method, "running_statistics"))
        at_best = {own} if own and name in ("long", "signs", "full", "mini") else set()
        assert rates == (swept if name == "statistics" else paper | at_best)
    assert bool(found) == (name not in ("epsilon", "capacity", "settings"))
