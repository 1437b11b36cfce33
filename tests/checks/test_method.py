"""The public suite passes every registered method and catches wrong ones."""

import random

import pytest
import torch
from checks.one_property import keep_property
from torch import nn

from gotta.checks import method as checks
from gotta.errors import GottaError
from gotta.methods import Method, methods
from gotta.methods.parts.losses import entropy
from gotta.methods.parts.params import train_affine
from gotta.state import count
from gotta.statistics import Batch

pytestmark = pytest.mark.thorough

FAST = {"cotta": {"copies": 2}, "energy": {"steps": 2, "buffer_size": 40}, "foa": {"population": 4}}


@pytest.mark.parametrize("name", methods.names())
def test_registered_methods_pass(name):
    checks.check(name, examples=2, settings=FAST.get(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", methods.names())
def test_registered_methods_pass_on_many_networks(name):
    checks.check(name, examples=12, settings=FAST.get(name))


def last_layer(model):
    return [module for module in model.modules() if isinstance(module, nn.Linear)][-1]


class Right(Method):
    """One step on the entropy, for any network."""

    native = paired = Batch()
    presets = {"official": {"lr": 0.01, "optimizer": "sgd"}}  # noqa: RUF012
    remembers = {"steps": count}  # noqa: RUF012
    steps = 0

    def configure(self):
        last = last_layer(self.model).requires_grad_(True)
        return self.make_optimizer(list(last.parameters()))

    def adapt(self, batch):
        loss = entropy(self.training_logits(batch.x)).mean()
        self.descend(loss)
        self.steps += 1
        return {"loss": loss.item()}


class MovesMore(Right):
    def adapt(self, batch):
        with torch.no_grad():
            self.model.conv1.weight.mul_(0.9)
        return super().adapt(batch)


class ForgetsToRemember(Right):
    remembers = {}  # noqa: RUF012

    def adapt(self, batch):
        self.steps += 1
        with torch.no_grad():
            last_layer(self.model).bias.add_(0.1 * self.steps)
        return {}


class ChangesInPredict(Right):
    def predict(self, x):
        self.steps += 1
        return super().predict(x)


class PredictsAtRandom(Right):
    def predict(self, x):
        found = super().predict(x)
        found.logits.add_(random.random())
        return found


class GlobalTorch(Right):
    def adapt(self, batch):
        noise = torch.rand(())
        return {"loss": float(noise)}


class KeepsTheGraph(Right):
    def predict(self, x):
        found = super().predict(x)
        return type(found)((found.logits * last_layer(self.model).bias.sum()), found.features, found.embed)


class NotFinite(Right):
    def predict(self, x):
        found = super().predict(x)
        found.logits[0, 0] = float("nan")
        return found


class ReturnsTensors(Right):
    def adapt(self, batch):
        super().adapt(batch)
        return {"loss": torch.zeros(2)}


class DoesNotCount(Right):
    def adapt(self, batch):
        for _ in range(3):
            self.model(batch.x)
        return super().adapt(batch)


class ResetsHalf(Right):
    def reset(self):
        self.steps = 0


class SavesAnObject(Right):
    steps = None

    def adapt(self, batch):
        self.steps = {1, 2}
        return {}


class LeavesTrainMode(Right):
    def adapt(self, batch):
        self.model.train()
        return {}


WRONG = {
    MovesMore: "announced",
    ForgetsToRemember: "reset",
    ChangesInPredict: "prediction changes nothing",
    PredictsAtRandom: "global randomness",
    GlobalTorch: "global randomness",
    KeepsTheGraph: "without a graph",
    NotFinite: "finite",
    ReturnsTensors: "announced",
    DoesNotCount: "counts",
    ResetsHalf: "reset",
    SavesAnObject: "plain values",
    LeavesTrainMode: "announced",
}


def test_a_right_method_passes_and_settings_reach_it():
    checks.check(Right, examples=4, lr=0.1)


@pytest.mark.parametrize("method", WRONG, ids=lambda method: method.__name__)
def test_wrong_methods_are_caught(method, monkeypatch):
    keep_property(monkeypatch, checks.SUITE, WRONG[method])
    report = checks.run(method, examples=6)
    assert any(WRONG[method] in failure.property for failure in report.failures), str(report)
    assert all("Case(" in failure.message for failure in report.failures)


class OnlyBatchNorm(Right):
    def configure(self):
        return self.make_optimizer(train_affine(self.model, "onlybatchnorm"))


class RefusesAll(Method):
    def check(self, model):
        raise GottaError("not this one.")


def test_a_method_may_refuse_networks_but_not_all():
    checks.check(OnlyBatchNorm, examples=3)
    with pytest.raises(GottaError, match=r"takes none of the networks it is checked on: not this one"):
        checks.run(RefusesAll)


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("tnet", "Did you mean 'tent'"),
        (dict, "cannot be checked as method"),
        (3, "cannot be checked as method"),
        ("json:JSONDecoder", "another kind"),
    ],
)
def test_what_is_no_method_is_the_callers_mistake(method, words):
    with pytest.raises(GottaError, match=words):
        checks.run(method)


def test_wrong_settings_are_the_callers_mistake():
    with pytest.raises(GottaError, match="Did you mean 'lr'"):
        checks.run("tent", lrr=1)
