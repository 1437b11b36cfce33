"""What the doctor says of a model, without labels."""

import pytest
import sick_models
import torch
from tiny import seeded_net
from torch import nn

from gotta import GottaError, doctor, list_methods
from gotta.doctor import AS_EXPECTED, CANNOT_TELL, NOT_AT_ALL, TWICE, examine, kind_of_outputs
from gotta.processor import Bfloat16

pytestmark = pytest.mark.thorough

WORDS = {
    "normalised_twice": "normalised twice",
    "not_normalised": "not normalised",
    "softmax_output": "probabilities",
    "no_layers": "no normalisation layers",
    "train_mode": "train mode",
}


@pytest.fixture(scope="module")
def reports():
    tried = {"healthy": "*"}
    return {
        name: examine(getattr(sick_models, name)(), tried=tried.get(name, "source,norm,tent"))
        for name in ("healthy", *WORDS)
    }


@pytest.mark.parametrize("name", WORDS)
def test_each_illness_is_named_and_no_other(reports, name):
    assert len(reports[name].problems) == 1, reports[name]
    assert WORDS[name] in reports[name].problems[0]
    assert f"! {reports[name].problems[0]}" in str(reports[name])


def test_a_healthy_model_has_no_problem(reports):
    report = reports["healthy"]
    assert report.problems == []
    assert (report.layers, report.outputs, report.inputs) == ({"BatchNorm2d": 19}, "logits", AS_EXPECTED)
    assert "source" in report.no_ops
    assert {"norm", "tent"}.isdisjoint(report.no_ops)
    assert "no problem found" in str(report)


def test_inputs_are_judged_by_the_first_batch_norm(reports):
    found = {name: report.inputs for name, report in reports.items()}
    assert found["normalised_twice"] == TWICE
    assert found["not_normalised"] == NOT_AT_ALL
    assert found["softmax_output"] == found["train_mode"] == AS_EXPECTED
    assert found["no_layers"] in (AS_EXPECTED, CANNOT_TELL)


def test_methods_that_have_nothing_to_do_are_named(reports):
    no_ops = reports["no_layers"].no_ops
    assert {"norm", "source", "tent"} <= set(no_ops)
    assert "BatchNorm" in reports["no_layers"].steps["norm"].note


def test_the_cost_of_a_step_of_every_method(reports):
    steps = reports["healthy"].steps
    assert list(steps) == list_methods()
    costs = {name: (step.forwards, step.backwards) for name, step in steps.items()}
    assert costs["source"] == costs["norm"] == (1, 0)
    assert costs["tent"] == (1, 1)
    assert all(step.seconds > 0 or step.note for step in steps.values())


def test_group_norm_makes_norm_a_no_op_and_not_tent():
    report = examine(seeded_net(lambda channels: nn.GroupNorm(4, channels)), tried="norm,t*t")
    assert list(report.steps) == ["norm", "tent"]
    assert report.layers == {"GroupNorm": 2}
    assert "norm" in report.no_ops
    assert "tent" not in report.no_ops


def test_an_untrained_model_tells_nothing_about_its_inputs():
    assert examine(seeded_net(), tried="source").inputs == CANNOT_TELL
    assert examine(sick_models.model, tried="source").inputs == CANNOT_TELL


def test_the_model_is_left_as_it_is():
    net = seeded_net().train()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    examine(net)
    assert net.training
    assert not net._forward_hooks
    assert all(torch.equal(before[name], value) for name, value in net.state_dict().items())
    assert all(parameter.requires_grad for parameter in net.parameters())


def test_ones_own_images():
    x = torch.rand(20, 4, 6, 6, generator=torch.Generator().manual_seed(0))
    net = nn.Sequential(nn.Conv2d(4, 3, 3), nn.BatchNorm2d(3), nn.Flatten(), nn.Linear(48, 3)).eval()
    assert examine(net, x).inputs == CANNOT_TELL
    with pytest.raises(GottaError, match="bundled images"):
        examine(net)
    with pytest.raises(GottaError, match="images given"):
        examine(nn.Conv2d(4, 3, 3), x)


def test_kinds_of_outputs():
    logits = torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    assert kind_of_outputs(logits) == "logits"
    assert kind_of_outputs(logits.softmax(1)) == "probabilities"
    assert kind_of_outputs(logits.log_softmax(1)) == "log-probabilities"
    assert kind_of_outputs(logits.abs()) == kind_of_outputs(-logits.abs()) == "logits"


ONLY_LIMITED = Bfloat16(True, "AVX2", "a process that tries dies of Illegal instruction")


def test_there_is_a_line_on_bfloat16(monkeypatch):
    monkeypatch.setattr(doctor, "probe_bfloat16", lambda: ONLY_LIMITED)
    report = examine(sick_models.model, tried="source")
    assert "bfloat16              works only with ONEDNN_MAX_CPU_ISA=AVX2 set before torch" in str(report)
    monkeypatch.setattr(doctor, "probe_bfloat16", Bfloat16)
    assert "bfloat16              works\n" in str(examine(sick_models.model, tried="source"))


def test_a_model_in_bfloat16_is_not_tried_where_that_would_end_the_process(monkeypatch):
    monkeypatch.setattr(doctor, "probe_bfloat16", lambda: ONLY_LIMITED)
    with pytest.raises(GottaError, match="weights in bfloat16, which works only with ONEDNN_MAX_CPU_ISA=AVX2"):
        examine(seeded_net().bfloat16())


def test_another_project_of_the_same_name_is_noticed(monkeypatch):
    assert doctor.find_namesake() == ""
    monkeypatch.setattr(doctor, "metadata", lambda name: {"Summary": "an agent's command line", "Version": "3.1"})
    assert doctor.find_namesake() == "3.1"
    report = doctor.examine(seeded_net(), tried="source")
    assert any("another project called gotta (3.1)" in problem for problem in report.problems)


def test_half_precision_is_named_and_the_rest_is_looked_at_in_float32():
    report = examine(seeded_net().half(), tried="source")
    assert report.half == "float16"
    assert any("half precision (float16)" in problem for problem in report.problems)
    assert "(0 backwards: it trains no weights" in str(report)
    assert examine(seeded_net(), tried="source").half == ""
