"""Presets, hyper-parameters, quirks and the description of a method."""

from math import log

import pytest
import torch
from tiny import net_for, seeded_net
from torch import nn

from gotta import GottaError, adapt, list_methods
from gotta.methods import describe, methods
from gotta.methods.parts.losses import margin

CLASSES = 10
X = torch.rand(16, 3, 8, 8, generator=torch.Generator().manual_seed(0))
QUIRKS = {
    *("keep_ema", "keep_momentum", "step_on_empty", "keep_q", "weight_decay", "scaled_logits", "move_twice"),
    *("mixed_logarithms", "creeping_variance", "first_batch"),
}


def build(method, **settings):
    return adapt(net_for(method), method, num_classes=CLASSES, **settings).method


@pytest.mark.parametrize("method", list_methods())
def test_every_preset_builds_with_the_values_it_shows(method):
    shown = describe(method)["presets"]
    assert "official" in shown
    for preset, values in shown.items():
        built = build(method, preset=preset)
        own = {name: value for name, value in values.items() if name != "statistics"}
        assert {name: getattr(built.hyper, name) for name in own} == own
        assert own.keys() == {name for name in shown["official"] if name != "statistics"}
        if built.optimizer is not None:
            assert built.optimizer.param_groups[0]["lr"] == values["lr"]
            assert type(built.optimizer).__name__.lower() == values["optimizer"].replace("nesterov", "sgd")


@pytest.mark.parametrize(
    ("method", "preset", "values"),
    [
        ("tent", "official", {"lr": 1e-3, "optimizer": "adam"}),
        ("tent", "imagenet-resnet50", {"lr": 2.5e-4, "optimizer": "sgd"}),
        ("tent", "imagenet-vit", {"lr": 1e-3, "optimizer": "sgd"}),
        ("pl", "tea", {"lr": 1e-5, "train": "all", "statistics": "source", "threshold": 0.9}),
        ("shot", "tea", {"lr": 1e-3, "beta": 0.3, "threshold": 0.9}),
        ("shot", "imagenet-resnet50", {"lr": 1e-2, "beta": 0.1, "optimizer": "sgd"}),
        ("cotta", "official", {"momentum": 0.999, "restore": 0.01, "anchor_threshold": 0.92, "copies": 32}),
        ("cotta", "imagenet-resnet50", {"lr": 1e-2, "optimizer": "nesterov", "restore": 0.001, "symmetric": True}),
        ("note", "official", {"lr": 1e-4, "k": 4.0, "weight_decay": 0.0, "iabn": True}),
        ("rotta", "official", {"lr": 1e-3, "nu": 0.001}),
        ("eata", "official", {"lr": 5e-3, "e_margin": None, "d_margin": 0.4, "beta": 1.0, "fisher_batch_size": 64}),
        ("eata", "tea", {"lr": 1e-3, "e_margin": 0.4 * log(1000), "d_margin": 0.05, "beta": 2000.0}),
        ("eata", "tea", {"optimizer": "adam", "fisher_batch_size": 200}),
        ("eata", "imagenet-resnet50", {"lr": 2.5e-4, "d_margin": 0.05, "e_margin": 0.4 * log(1000), "beta": 2000.0}),
        ("eata", "imagenet-vit", {"lr": 1e-3, "d_margin": 0.05, "e_margin": 0.4 * log(1000), "beta": 2000.0}),
        ("eta", "official", {"lr": 5e-3, "d_margin": 0.4, "optimizer": "sgd"}),
        ("eta", "imagenet-resnet50", {"lr": 2.5e-4, "d_margin": 0.05}),
        ("cotta", "cifar100", {"anchor_threshold": 0.72, "lr": 1e-3}),
        ("cotta", "imagenet-vit", {"lr": 2e-3, "optimizer": "sgd", "restore": 0.001, "anchor_threshold": 0.1}),
        ("shot", "imagenet-vit", {"lr": 5e-5, "optimizer": "sgd", "beta": 0.3}),
        ("pl", "official", {"lr": 1e-3, "threshold": 0.9, "train": "affine"}),
        ("pl", "imagenet-resnet50", {"lr": 1e-2, "optimizer": "sgd"}),
        ("sar", "imagenet-resnet50", {"lr": 2.5e-4, "rho": 0.05, "recover_below": 0.2}),
        ("sar", "imagenet-vit", {"lr": 1e-3, "e_margin": 0.4 * log(1000)}),
        ("sar", "official", {"lr": 1e-3, "rho": 0.05, "e_margin": None, "recover_below": 0.2}),
        ("sar", "tea", {"lr": 1e-2, "e_margin": 0.4 * log(1000)}),
        ("roid", "official", {"lr": 1e-3, "momentum": 0.99, "probs_momentum": 0.9, "temperature": 1 / 3}),
        ("roid", "imagenet-resnet50", {"lr": 2.5e-4, "optimizer": "nesterov"}),
        ("sotta", "official", {"lr": 1e-3, "rho": 0.05, "weight_decay": 0.0, "optimizer": "adam"}),
        ("t3a", "official", {"shots": 20}),
        ("cache", "official", {"shots": 3, "alpha": 2.0, "beta": 5.0, "negative_shots": 2, "negative_alpha": 0.117}),
        ("cache", "official", {"negative_from": 0.2, "negative_to": 0.5, "possible_above": 0.03, "negative_beta": 1.0}),
        ("cache", "positive", {"negative_alpha": 0.0, "alpha": 2.0}),
        ("delta", "official", {"lr": 1e-3, "e_margin": None, "class_momentum": 0.95, "weighting": True}),
        ("delta", "imagenet-resnet50", {"lr": 2.5e-4, "optimizer": "sgd"}),
        ("tribe", "official", {"lr": 1e-3, "margin": 0.05, "share": 0.0, "anchor_weight": 0.5}),
        ("tribe", "cifar100", {"margin": 0.2, "share": 0.1}),
        ("tribe", "imagenet-resnet50", {"lr": 5e-4, "margin": 0.4, "share": 0.5}),
        ("resitta", "official", {"lr": 1e-3, "nu": 0.001, "pull": 0.05}),
        ("resitta", "imagenet-resnet50", {"lr": 1e-6, "pull": 0.05}),
        ("petta", "official", {"lr": 1e-3, "nu": 0.001, "pull": 10.0, "anchor_weight": 1.0, "feature_rate": 0.05}),
        ("petta", "imagenet-resnet50", {"symmetric": False}),
        ("rdumb", "official", {"lr": 1e-3, "optimizer": "adam", "e_margin": None, "d_margin": 0.4}),
        ("rdumb", "imagenet-resnet50", {"lr": 2.5e-4, "optimizer": "sgd", "d_margin": 0.05}),
        ("deyo", "official", {"lr": 1e-3, "e_margin": None, "weight_margin": None, "plpd_threshold": 0.2}),
        ("deyo", "imagenet-resnet50", {"lr": 2.5e-4, "optimizer": "sgd", "plpd_threshold": 0.3}),
        ("deyo", "imagenet-vit", {"lr": 1e-3, "optimizer": "sgd", "plpd_threshold": 0.2}),
        ("energy", "official", {"steps": 20, "step_size": 0.1, "noise": 0.01, "buffer_size": 10_000, "reinit": 0.05}),
    ],
)
def test_the_published_values(method, preset, values):
    shown = describe(method)["presets"][preset]
    assert {name: shown[name] for name in values} == values


@pytest.mark.parametrize("method", list_methods())
def test_every_preset_with_values_says_whose_they_are(method):
    shown = describe(method)
    assert set(shown["values from"]) == {name for name in shown["presets"] if shown["presets"]["official"]}


def test_values_that_no_author_gave_are_said_to_be_chosen_here():
    chosen = {
        method
        for method in list_methods()
        if describe(method)["values from"].get("official", "").startswith("chosen here")
    }
    assert chosen == {"sar", "shot", "pl", "resitta", "delta"}
    assert {describe("rotta")["values from"][name] for name in ("imagenet-resnet50", "imagenet-vit")} == {
        "chosen here: those of CIFAR"
    }


def test_an_argument_wins_over_the_preset():
    assert build("rotta", nu=0.01).hyper.nu == 0.01
    assert build("eata", preset="tea", d_margin=0.2).hyper.d_margin == 0.2
    assert build("eata", preset="tea", d_margin=0.2).hyper.lr == 1e-3


def test_a_preset_may_name_its_statistics_and_an_argument_wins():
    assert build("pl", preset="tea").statistics.name == "source"
    assert build("pl", preset="tea", statistics="batch").statistics.name == "batch"
    assert build("pl", pairing="paper").statistics.name == "batch"
    assert build("pl").statistics.name == "class"


def test_the_entropy_margin_follows_the_number_of_classes():
    model = adapt(seeded_net(), "eta", pairing="paper")
    explicit = adapt(seeded_net(), "eta", pairing="paper", e_margin=0.4 * log(CLASSES))
    for x in (X, X.flip(3)):
        assert torch.equal(model(x), explicit(x))


def test_quirks_are_known_by_name():
    found = {name for method in list_methods() for name in describe(method)["quirks"]}
    assert found == QUIRKS
    assert build("sar", quirks="published").quirks == {"keep_ema", "keep_momentum", "step_on_empty"}
    assert build("tent", quirks="published").quirks == set()
    assert build("sar", quirks=["keep_ema"]).quirks == {"keep_ema"}
    assert build("eata", quirks="keep_q").quirks == {"keep_q"}
    assert not build("sar").quirks


def test_weight_decay_of_note():
    decay = {
        quirks: build("note", quirks=quirks).optimizer.param_groups[0]["weight_decay"] for quirks in ((), "published")
    }
    assert decay == {(): 0.0, "published": 5e-4}
    assert build("note", weight_decay=0.1, quirks="published").optimizer.param_groups[0]["weight_decay"] == 0.1


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        ("tent", {"lr": 0.0}, "lr must be greater than 0"),
        ("tent", {"lr": -1.0}, "lr must be a number of at least 0"),
        ("tent", {"lr": "fast"}, "lr must be a number of at least 0"),
        ("tent", {"lr": float("nan")}, "lr must be a number of at least 0"),
        ("tent", {"optimizer": "adm"}, "adam"),
        ("tent", {"optimizer": 3}, "optimizer must be a name"),
        ("tent", {"learning_rate": 1.0}, "argument of method 'tent'"),
        ("tent", {"augment": abs}, "argument of method 'tent'"),
        ("tent", {"preset": "offical"}, "Did you mean 'official'"),
        ("tent", {"quirks": "keep_ema"}, "quirk of method 'tent'"),
        ("sar", {"quirks": {"keep_em"}}, "Did you mean 'keep_ema'"),
        ("eta", {"fisher_data": X}, "argument of method 'eta'"),
        ("cotta", {"copies": 0}, "copies must be a whole number"),
        ("cotta", {"copies": 1.5}, "copies must be"),
        ("note", {"iabn": 1}, "iabn must be true or false"),
        ("pl", {"train": "bn"}, "affine"),
        ("eata", {"fisher": {"bn1.weight": torch.ones(8)}}, "fisher lacks"),
        ("tent", {"statistics": "bach"}, "bach"),
        ("tent", {"rate": 0.0}, "rate"),
        ("tent", {"fed_by": "x"}, "fed_by"),
        ("tent", {"pairing": "papre"}, "paper"),
    ],
)
def test_wrong_settings_are_one_clear_error(method, settings, words):
    with pytest.raises(GottaError, match=words):
        build(method, **settings)


def test_wrong_settings_are_told_before_anything_is_built():
    with pytest.raises(GottaError, match="argument of method 'rotta'"):
        methods.check_arguments("rotta", {"mu": 0.1})
    with pytest.raises(GottaError, match="quirk"):
        methods.check_arguments("rotta", {"quirks": ["keep_q"]})
    with pytest.raises(GottaError, match="reset_every must be a whole number of at least 1 "):
        methods.check_arguments("rotta", {"reset_every": -1})
    methods.check_arguments("rotta", {"nu": 0.1, "preset": "imagenet-vit", "reset_every": 5})


def test_features_are_asked_for_in_vain_of_a_model_without_a_linear_layer():
    net = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, CLASSES, 8), nn.Flatten())
    with pytest.raises(GottaError, match="no features"):
        adapt(net, "tent", "fps", 8, num_classes=CLASSES, embedding="features")(torch.rand(4, 3, 8, 8))


def test_a_description_is_complete():
    for method in list_methods():
        found = describe(method)
        assert found["name"] == method
        assert found["summary"]
        assert found["paper"]
        assert found["statistics"]["with a memory"]["name"] in ("source", "batch", "running", "class")
        assert found["score"] == ("after" if method in ("energy", "foa") else "before")


def test_eata_without_clean_samples_says_that_it_is_eta():
    plain, eta = (adapt(seeded_net(), name, num_classes=CLASSES) for name in ("eata", "eta"))
    assert "eta" in plain.method.notes[0]
    assert build("eata", fisher_data=X).notes == []
    for x in (X, X.flip(2), X.flip(3)):
        assert torch.equal(plain(x), eta(x))


def test_a_preset_is_checked_in_time_by_adapt():
    with pytest.raises(GottaError, match="preset of method 'rotta'"):
        adapt(seeded_net(), "rotta", "fps", 8, CLASSES, preset="tea")


def test_the_margin_that_is_left_open_is_four_tenths_of_the_largest_entropy():
    assert margin(None, torch.zeros(2, 10)) == pytest.approx(0.4 * log(10))
    assert margin(0.7, torch.zeros(2, 10)) == 0.7
