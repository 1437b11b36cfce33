"""`gotta advise`."""

from typer.testing import CliRunner

from gotta.cli.__main__ import app


def say(*arguments):
    result = CliRunner().invoke(app, ["advise", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_stream_tells_its_own_class_runs_and_batch_size():
    runs = say("resnet20", "order=dirichlet", "gamma=0.1", "per_class=100", "domains=snow", "batch_size=1")
    assert "BatchNorm, classes in runs of" in runs
    assert "single images" in runs
    mixed = say("resnet20", "order=iid", "per_class=50", "domains=snow")
    assert "classes in random order, batches of 64" in mixed
    assert "in runs of" not in mixed


def test_a_budget_leaves_the_dear_ones_out():
    assert "1.0 forwards" in say("resnet20", "--run-length", "30", "--budget", "1")
