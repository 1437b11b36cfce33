"""Every recipe of the paper has the settings that the paper states: tables cell by cell, figures by their captions."""

from collections import Counter
from dataclasses import asdict
from functools import cache
from itertools import product

import pytest

from gotta.experiment.recipe.recipe import load_recipe
from gotta.experiment.spec.best_rates import best_rates
from gotta.experiment.spec.sections import FIELDS
from gotta.report.paper.numbers import tables
from gotta.streams import StreamSpec
from gotta.streams.schedule import DOMAIN_ORDERS

PRACTICAL = "motion_blur snow fog shot_noise defocus_blur contrast zoom_blur brightness frost elastic_transform"
PRACTICAL += " glass_blur gaussian_noise pixelate jpeg_compression impulse_noise"  # RoTTA's configuration of CIFAR
USUAL = "gaussian_noise shot_noise impulse_noise defocus_blur glass_blur motion_blur zoom_blur snow frost fog"
USUAL += " brightness contrast elastic_transform pixelate jpeg_compression"
SIZES = {8, 16, 32, 64}
CONTINUAL, EPISODIC = {"never"}, {"each_domain"}
# The data, the capacities, the concentrations and the resets.
FACTS = {
    "table1": ("cifar10_c", {32}, {0.1}, CONTINUAL),
    "table2": ("cifar10_c", SIZES, {0.1}, CONTINUAL),
    "table3": ("imagenet_c", {64}, {0.1, 1e-4}, EPISODIC),
    "itd": ("itd", {32}, {0.1}, EPISODIC),
    "table-m64": ("cifar10_c", {64}, {0.1}, CONTINUAL),
    "table-vit": ("imagenet_c", {64}, {0.1}, EPISODIC),
    "epsilon": ("cifar10_c", {32, 64}, {0.1}, CONTINUAL | EPISODIC),
    "capacity": ("cifar10_c", SIZES, {0.1}, CONTINUAL),
    "settings": ("cifar10_c", {32}, {0.1}, CONTINUAL | EPISODIC),
}
CIFAR_NETWORK, THRESHOLDS = ("wrn28-10", "Standard.pt"), (0.001, 0.005, 0.01)
NETWORKS = {
    "table3": ("resnet50", "resnet50-0676ba61.pth"),
    "table-vit": ("vit-b16", "vit_base_patch16_224.augreg_in21k_ft_in1k.safetensors"),
    "itd": ("resnet18", "itd-resnet18.pth"),
}
# What methods are given; nothing where they are not named, so the official preset.
TEA = {"preset": "tea"}
WITH_FISHER = {**TEA, "fisher": {"data": "cifar10-train", "number": 2000, "seed": 0}}
GIVEN = {
    "table1": {"sar": TEA, "eata": WITH_FISHER},
    "table-m64": {"sar": TEA, "eata": WITH_FISHER},
    "table3": {method: {"preset": "imagenet-resnet50"} for method in ("rotta", "note")},
    "table-vit": {method: {"preset": "imagenet-vit"} for method in ("rotta", "note")},
}
VIDEO = {"schedule": "one", "domains": "gaussian_noise", "clips": 1024, "frames": 32, "choose": "random"}
TABLES = {
    "table1": "table1",
    "table2": "table2",
    "table3": "table3",
    "table-m64": "table_m64",
    "table-vit": "table_vit",
}


@cache
def specs_of(name):
    weights = {} if name in ("itd", "long", "signs", "full", "mini", "short") else {"model": {"weights": "random"}}
    return load_recipe(name).runs(seeds=[0], **weights)


def runs(name, controls=False):
    return [spec for spec in specs_of(name) if bool(spec.control) == controls]


def orders(name):
    return {"dirichlet"} | ({"iid"} if name == "settings" else set())


@pytest.mark.parametrize("name", FACTS)
def test_settings_are_the_papers(name):
    data, sizes, gammas, resets = FACTS[name]
    specs = runs(name)
    with_memory = [spec for spec in specs if spec.has_memory]
    assert {spec.data.name for spec in specs} == {data}
    assert {spec.memory.capacity for spec in with_memory} == sizes
    assert {spec.stream["gamma"] for spec in specs} == gammas
    assert {spec.regime.reset for spec in specs} == resets
    assert {spec.stream["severity"] for spec in specs} == {5}
    assert {spec.regime.batch_size for spec in specs} == sizes | ({64} if len(with_memory) < len(specs) else set())
    order = "rotta" if data == "cifar10_c" else "standard"
    assert {spec.stream["domain_order"] for spec in specs} == {order}
    assert {spec.pairing for spec in specs} == {"paper"}


@pytest.mark.parametrize("name", FACTS)
def test_nothing_else_of_a_stream_is_changed(name):
    data, _, gammas, _ = FACTS[name]
    fixed = {"severity": 5, "domain_order": "rotta" if data == "cifar10_c" else "standard", "schedule": "continual"}
    fixed |= VIDEO if name == "itd" else {}
    streams = [asdict(StreamSpec.of(**fixed, order=order, gamma=gamma)) for order in orders(name) for gamma in gammas]
    specs = runs(name) + runs(name, controls=True)
    for spec in specs:
        assert any(spec.stream.items() <= stream.items() for stream in streams), spec.label
    assert {spec.stream["order"] for spec in specs} == orders(name)


@pytest.mark.parametrize("name", FACTS)
def test_networks_and_what_methods_are_given_are_the_papers(name):
    network = {(cell["model"]["name"], cell["model"]["weights"]) for cell in load_recipe(name).sections()}
    assert network == {NETWORKS.get(name, CIFAR_NETWORK)}
    for spec in runs(name) + runs(name, controls=True):
        changed = spec.identity["settings"].get("method", {})
        arguments = {key: value for key, value in changed.items() if key not in FIELDS["method"]}
        assert arguments == GIVEN.get(name, {}).get(spec.method.name, {}), spec.label
        assert (spec.method.embedding, spec.method.prior, spec.guard) == ("probs", None, None)
        assert (spec.regime.name, spec.regime.clock) == ("steps_of_M", "none")
        assert spec.regime.score == ("after" if spec.method.name == "energy" else "before")


@pytest.mark.parametrize("name", ["epsilon", "capacity", "settings", "itd"])
def test_every_memory_is_run_at_every_setting(name):
    _, sizes, gammas, resets = FACTS[name]
    found = {}
    for spec in runs(name):
        if spec.method.name == "source":
            continue
        memory = spec.memory
        setting = memory.capacity if spec.has_memory else None, memory.arguments.get("epsilon"), spec.stream["gamma"]
        found.setdefault((spec.method.name, memory.name), []).append(
            (*setting, spec.regime.reset, spec.stream["order"])
        )
    assert len(found) == {"epsilon": 3 * 8, "capacity": 3 * 8, "settings": 4 * 8, "itd": 3 * 6}[name]
    for (_, memory), settings in found.items():
        diverse = memory in ("cds", "fps", "fpsd")
        swept = (THRESHOLDS if name == "epsilon" else (0.005,)) if diverse else (None,)
        expected = product((None,) if memory == "none" else sizes, swept, gammas, resets, orders(name))
        assert Counter(settings) == Counter(expected), memory


@pytest.mark.parametrize("name", [*TABLES, "itd"])
def test_controls_stand_beside_rows_of_the_same_setting(name):
    def settings(specs):
        return {
            (spec.memory.capacity, spec.stream["gamma"], spec.regime.reset)
            for spec in specs
            if spec.memory.name != "none" or spec.control  # a row without a memory stands for every capacity
        }

    rows, controls = ([spec for spec in runs(name, of) if spec.method.name == "norm"] for of in (False, True))
    if name == "table-vit":
        rows, controls = ([spec for spec in runs(name, of) if spec.method.name == "note"] for of in (False, True))
    kinds = {spec.control for spec in controls}
    assert len(kinds) == (5 if name == "table-vit" else 6)
    for kind in kinds:
        assert settings([spec for spec in controls if spec.control == kind]) == settings(rows), kind


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
        if s.memory.name != "cbfifo"  # ours
    )
    assert ours.keys() == cells
    assert set(ours.values()) == {1}


def test_the_orders_of_the_domains_are_the_published_ones():
    assert DOMAIN_ORDERS["rotta"] == tuple(PRACTICAL.split())
    assert DOMAIN_ORDERS["standard"] == tuple(USUAL.split())


@pytest.mark.parametrize("name", [*FACTS, "controls", "statistics", "long", "signs", "full", "mini", "short"])
def test_the_control_has_the_rate_of_the_memory_rows(name):
    found = {}
    for spec in specs_of(name):
        if spec.control == "running_statistics":
            assert (spec.method.statistics, spec.method.fed_by) == ("running", "batch")
            found.setdefault(spec.method.name, set()).add(spec.method.rate)
    swept = {0.01, 0.02, 0.05, 0.1, 0.2}
    for method, rates in found.items():
        paper = {0.01 if method == "note" else 0.05}
        own = best_rates().get((method, "running_statistics"))
        at_best = {own} if own and name in ("long", "signs", "full", "short") else set()
        assert rates == (swept if name == "statistics" else paper | at_best)
    assert bool(found) == (name not in ("epsilon", "capacity", "settings"))
