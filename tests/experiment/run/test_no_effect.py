"""Cells that make no sense are run as what they equal, and marked."""

import sys

import pytest
import torch

from gotta.cli.__main__ import main
from gotta.experiment.recipe.recipe import Recipe
from gotta.experiment.run.no_effect import settle_cell, without_effect
from gotta.experiment.run.run import run
from gotta.experiment.spec.run_spec import RunSpec
from gotta.experiment.sweep.store import Run as StoredRun
from gotta.models import load
from gotta.models.vit import ViTMini
from gotta.models.zoo import save_model
from gotta.report.panel import place
from gotta.report.stored_run import Run
from gotta.report.tables.comparison import table
from gotta.report.tables.details import domain_table
from gotta.report.tables.render import markdown, plain

SMALL = {"per_class": 2, "domains": ["snow", "contrast"]}


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    """A transformer with random weights: LayerNorm only."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = ViTMini()
    path = tmp_path_factory.mktemp("models") / "vit.safetensors"
    save_model(model, "vit-mini", path)
    return str(path)


def cell(model, method, **changes):
    return RunSpec.of({"model": {"name": model}, "method": {"name": method}, "stream": SMALL, **changes})


def finished(spec):
    return Run.of(StoredRun(spec.id, spec.model_dump(), run(spec)[1], {}))


def test_norm_has_no_effect_on_layer_norm_and_tent_has(vit):
    model = load(vit)
    assert "BatchNorm" in settle_cell(cell(vit, "norm"), model)[1]
    assert settle_cell(cell(vit, "tent"), model)[1] == ""
    resnet = load("resnet20")
    assert settle_cell(cell("resnet20", "norm"), resnet)[1] == ""
    control = {"memory": {"capacity": 8}, "control": "running_statistics"}
    assert "same_samples" in settle_cell(cell(vit, "tent", **control), model)[1]
    assert settle_cell(cell("resnet20", "tent", **control), resnet)[1] == ""


def test_running_statistics_of_norm_without_batch_norm_are_run_as_the_source_model(vit):
    spec = cell(vit, "norm", memory={"capacity": 8}, control="running_statistics")
    ran, source = finished(spec), finished(cell(vit, "source"))
    assert ran.scores() == source.scores()
    assert "BatchNorm" in ran.summary.no_effect


def test_each_kind_of_cell_is_told_once(vit):
    specs = [cell(vit, method, seed=seed) for method in ("norm", "tent") for seed in (0, 1)]
    assert list(without_effect(specs)) == [f"norm on {vit}"]


def test_the_summary_and_the_tables_carry_the_mark(vit):
    runs = [finished(cell(vit, method)) for method in ("source", "norm", "tent")]
    source, norm, tent = runs
    assert norm.accuracy == source.accuracy
    assert "BatchNorm" in norm.summary.no_effect
    assert source.summary.no_effect == tent.summary.no_effect == ""
    (panel,) = place(runs).panels
    for shown in (plain(table(panel)), markdown(table(panel)), plain(domain_table(panel))):
        assert "† without effect: method 'norm'" in shown
    cells = {entry.column.method: entry.accuracy for entry in panel.entries}
    assert cells["norm"].signs == "†"
    assert cells["tent"].signs == cells["source"].signs == ""


def test_the_command_line_says_so_before_the_run(vit, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    settings = ["method.name=norm", f"model.name={vit}", "stream.per_class=2", "stream.domains=[snow]"]
    monkeypatch.setattr(sys, "argv", ["gotta", "run", *settings, "--out", str(tmp_path)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    before, after = capsys.readouterr().out.split("[1/1]")
    assert f"No effect: norm on {vit}" in before
    assert "†" in after


def test_a_recipe_can_set_the_guard():
    cells = [{"method": ["norm"], "settings": {"guard": "freeze"}}]
    recipe = Recipe(title="t", base={"stream": SMALL}, seeds=[0], cells=cells)
    assert [spec.guard for spec in recipe.runs()] == ["freeze"]


def test_a_guarded_run_tells_how_often_the_guard_was_active():
    stream = {"order": "sorted", "per_class": 80, "domains": ["brightness"], "schedule": "one"}
    regime = {"batch_size": 16}
    spec = RunSpec.of({"method": {"name": "norm"}, "stream": stream, "regime": regime, "guard": "freeze"})
    steps, summary = run(spec)
    active = [step["guard_active"] for step in steps]
    assert 0 < sum(active) == summary["guard"]["active_steps"] < len(steps)
    assert summary["guard"]["episodes"] == 1
    assert summary["cost"]["guard"]["forwards"] > 0
    bare = RunSpec.of({"method": {"name": "norm"}, "stream": stream, "regime": regime})
    assert bare.id != spec.id


def test_a_spec_without_a_guard_keeps_its_name():
    assert RunSpec.of({}).id == RunSpec.of({"guard": None}).id
    assert RunSpec.of({"guard": "warn"}).id != RunSpec.of({}).id
