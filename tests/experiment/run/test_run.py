import pytest
import torch
from tiny import seeded_net
from torch import nn

from gotta import GottaError
from gotta.data import dataset
from gotta.experiment.run.loaded import data_of, model_of
from gotta.experiment.run.run import build, run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import policies

SMALL = {"per_class": 2, "domains": ["snow", "contrast"]}


def spec(method="norm", memory="fps", **changes):
    given = {"method": {"name": method}, "memory": {"name": memory, "capacity": 8}, "stream": SMALL, **changes}
    return RunSpec.of(given)


def numbers(result):
    """What must repeat exactly: everything but time and memory use."""
    steps, summary = result
    kept = {name: summary[name] for name in ("accuracy", "online", "buffer", "decisions", "stream", "adaptations")}
    return kept, [{name: value for name, value in step.items() if name != "cost"} for step in steps]


def test_the_same_spec_gives_the_same_numbers():
    made = spec("tent", "reservoir")
    assert numbers(run(made)) == numbers(run(made))


def test_a_summary_is_complete():
    steps, summary = run(spec())
    assert summary["online"]["samples"] == 40
    assert [domain["name"] for domain in summary["online"]["domains"]] == ["snow-5", "contrast-5"]
    assert len(steps) == 5
    assert {"occupancy", "balance", "purity", "coverage", "near_duplicates"} <= set(summary["buffer"])
    assert summary["cost"]["predict"]["forwards"] == 5
    assert summary["cost"]["adapt"]["forwards"] == summary["adaptations"] == 5
    assert summary["error"] == pytest.approx(100 - summary["accuracy"])


def test_progress_is_reported():
    heard = []
    run(spec(), lambda step, steps, accuracy: heard.append((step, steps)))
    assert heard == [(k, 5) for k in range(1, 6)]


@pytest.mark.parametrize("control", ["running_statistics", "same_samples", "true_kcenter", "true_cstu", "true_pbrs"])
def test_controls_run(control):
    _, summary = run(spec(control=control))
    assert 0 <= summary["accuracy"] <= 100
    if control.startswith("true_"):
        assert summary["buffer"]["purity"] == 1.0


@pytest.mark.parametrize("control", ["true_kcenter", "true_cstu", "true_pbrs"])
def test_a_control_by_true_labels_has_the_policy_of_its_name(control):
    made = spec(control=control)
    memory = build(made, model_of(made), data_of(made)).memory
    assert type(memory.policy) is policies.get(control.removeprefix("true_"))


def test_episodic_runs_do_not_depend_on_earlier_domains():
    def second(domains):
        made = spec(
            "tent",
            "none",
            stream={"per_class": 2, "order": "sorted", "domains": domains},
            regime={"reset": "each_domain"},
        )
        return run(made)[1]["online"]["domains"][-1]["accuracy"]

    assert second(["snow", "contrast"]) == second(["fog", "contrast"])


def test_a_model_of_other_classes_is_refused():
    net = seeded_net(classes=7)
    net.num_classes = 7
    with pytest.raises(GottaError, match=r"7 classes.*10"):
        build(spec(), net, dataset("cifar10-mini"))


def test_norm_on_a_network_without_batch_norm_is_refused():
    net = seeded_net(lambda channels: nn.GroupNorm(4, channels))
    net.num_classes = 10
    with pytest.raises(GottaError, match="BatchNorm"):
        build(spec(), net, dataset("cifar10-mini"))


def test_global_randomness_is_neither_used_nor_touched():
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    run(spec("tent", "reservoir"))
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_run_of_limited_exposure_scores_everything_and_tells_what_was_held_out():
    steps, summary = run(spec(regime={"expose_every": 2}))
    assert [step["missed"] for step in steps] == [False, True, False, True, False]
    assert summary["online"]["samples"] == 40
    assert summary["adaptations"] == 3
    told = summary["exposure"]
    assert (told["samples"], told["held_out_samples"]) == (24, 16)
    right = sum(step["correct"] for step in steps)
    assert (24 * told["accuracy"] + 16 * told["held_out_accuracy"]) / 100 == pytest.approx(right)
    assert "exposure" not in run(spec())[1]


@pytest.mark.parametrize("control", [None, "true_cstu"])
def test_foreign_samples_are_scored_apart_and_no_memory_sees_that_they_are(control):
    stream = {**SMALL, "order": "iid", "foreign": 0.2}
    steps, summary = run(spec(data={"name": "open", "number": 10}, stream=stream, control=control))
    assert summary["online"]["samples"] == 40
    assert sum(step["foreign"] for step in steps) == summary["open_set"]["foreign"] == 10
    assert sum(step["samples"] + step["foreign"] for step in steps) == 50
    assert 0 <= summary["open_set"]["auc_probability"] <= 100
    if control:  # told the truth, it keeps no foreign sample
        assert summary["open_set"]["rows_share"] == 0
    else:
        decided = summary["decisions"]["stored"] + summary["decisions"]["rejected"]
        assert decided == 50  # offered like any other sample


def test_a_run_without_foreign_samples_has_no_numbers_of_them():
    steps, summary = run(spec())
    assert "open_set" not in summary
    assert "foreign" not in steps[0]


def test_a_stream_that_does_not_wait_misses_the_same_batches_again():
    made = spec("tent", "fifo", regime={"clock": "analytic", "pace": 2, "batch_size": 8})
    (first, one), (second, two) = run(made), run(made)
    assert [k["missed"] for k in first] == [k["missed"] for k in second] == [False, True, False, True, False]
    assert one["online"] == two["online"]


def test_settings_of_the_clock():
    assert spec(regime={"clock": "analytic"}).regime.pace == 1.0
    assert spec(regime={"pace": 3}).regime.pace is None, "nothing is paced by a stream that waits"
    with pytest.raises(GottaError, match="pace: input should be greater than 0"):
        spec(regime={"clock": "analytic", "pace": 0})
    with pytest.raises(GottaError, match="Did you mean 'analytic'"):
        spec(regime={"clock": "analitic"})
