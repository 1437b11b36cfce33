"""The tables, from runs made by hand."""

import re
from io import StringIO

import pytest
from rich.console import Console

from gotta.errors import GottaError
from gotta.experiment.sweep.store import Run, Store
from gotta.report.places import setups
from gotta.report.tables.comparison import table
from gotta.report.tables.details import calibration_table, cost_table, domain_table, memory_table
from gotta.report.tables.markdown import report_markdown
from gotta.report.tables.render import markdown, plain, rich_table
from gotta.report.write import write_report


def run(memory="fps", method="norm", accuracy=50.0, seed=0, control=None, seconds=2.0, **changes):
    spec = {
        "data": {"name": "bundled", "images": 250, "severity": 5},
        "stream": {"order": "dirichlet", "gamma": 0.1, "schedule": "continual"},
        "model": {"name": "resnet20"},
        "memory": {"name": memory, "capacity": 32},
        "method": {"name": method},
        "control": control,
        "pairing": "paper",
        "regime": {"batch_size": 64, "adapt_every": 32, "reset": "never", "score": "before"},
        "seed": seed,
        "recipe": "mini",
    }
    spec |= changes.pop("spec", {})
    domains = [{"name": "fog-5", "accuracy": accuracy - 10}, {"name": "snow-5", "accuracy": accuracy + 10}]
    domains = [d | {"samples": 250, "error": 100 - d["accuracy"]} for d in domains]
    phase = {"seconds": 0.25, "forwards": 3, "backwards": 1, "samples": 64}
    summary = {
        "accuracy": accuracy,
        "error": 100 - accuracy,
        "online": {"domains": domains, "ece": 12.345, "nll": 1.2345, "entropy": 0.5},
        "buffer": {"rows": 32, "occupancy": 1.0, "balance": 0.987, "purity": None, "coverage": 0.124},
        "cost": {"predict": phase, "observe": phase, "adapt": phase, "total": phase, "peak_mb": 512.0},
        "seconds": seconds,
    }
    name = "-".join(map(str, (method, control or memory, seed, *changes.values())))
    return Run(name, spec, summary | changes.pop("summary", {}), {"python": "3.11.7", "cpu": "some cpu"})


def cells(found):
    return {
        (row.names[-1], column): cell
        for row in found.rows
        for column, cell in zip(found.columns, row.cells, strict=True)
    }


def row_names(found):
    return [row.names[-1] for row in found.rows]


CONTROLS = [
    "control: running statistics",
    "control: same samples per step",
    "control: oracle (true labels)",
]


def test_rows_and_columns_stand_in_the_usual_order():
    memories = ["mine", "fpsd", "cds", "none", "fps", "abc", "fifo", "pbrs", "cstu", "reservoir"]
    methods = ["energy", "zeta", "tent", "note", "source", "norm", "rotta"]
    runs = [run(memory) for memory in memories] + [run("none", method) for method in methods]
    runs += [run("none", control=control) for control in ("oracle", "new_idea", "same_samples", "running_statistics")]
    found = table(runs)
    expected = ["none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd", "abc", "mine", *CONTROLS]
    assert row_names(found) == [*expected, "control: new idea"]
    assert list(found.columns) == ["source", "norm", "rotta", "note", "tent", "energy", "zeta"]


def test_a_cell_is_the_mean_over_seeds_with_its_interval():
    found = table(
        [run(accuracy=50.0, seconds=1.0), run(accuracy=53.0, seed=1, seconds=2.0), run(accuracy=52.0, seed=2)]
    )
    cell = cells(found)["fps", "norm"]
    assert cell.value == pytest.approx(155 / 3)
    assert cell.interval == pytest.approx(4.302653 * 1.527525 / 3**0.5, rel=1e-5)  # Student, two degrees of freedom
    assert cell.seeds == 3
    assert cell.seconds == pytest.approx(5 / 3)
    assert "| fps | 51.7 ± 3.8 (1.7 s) |" in markdown(found)
    assert "± covers other seeds on these domains at 95 % (Student's t, 3 seeds)" in found.caption[0]


def test_one_seed_has_no_interval():
    found = table([run(accuracy=50.0)])
    assert "| fps | 50.0 (2.0 s) |" in markdown(found)
    assert "±" not in markdown(found)
    assert "one seed" in found.caption[0]


def test_fewer_seeds_than_elsewhere_are_said_in_the_cell():
    found = table([run(), run(seed=1), run("fifo", accuracy=40.0)])
    assert "| fifo | <u>40.0</u> (n=1, 2.0 s) |" in markdown(found)
    assert "fewer seeds where n= says so" in found.caption[0]


def test_best_and_second_are_marked_by_what_is_shown():
    values = {"none": 50.04, "fifo": 60.01, "reservoir": 60.04, "cds": 55.0, "fps": 54.96}
    found = table([run(memory, accuracy=value) for memory, value in values.items()])
    marks = {name: cell.mark for (name, _), cell in cells(found).items()}
    assert marks == {"none": "", "fifo": "best", "reservoir": "best", "cds": "second", "fps": "second"}
    text = markdown(found)
    assert text.count("**60.0**") == 2
    assert text.count("<u>55.0</u>") == 2


def test_lower_is_better_for_error_and_seconds():
    runs = [
        run("none", accuracy=50.0, seconds=9.0),
        run("fps", accuracy=60.0, seconds=1.0),
        run("fifo", accuracy=40.0, seconds=5.0),
    ]
    errors = {name: cell.mark for (name, _), cell in cells(table(runs, "error")).items()}
    assert errors == {"none": "second", "fps": "best", "fifo": ""}
    seconds = cells(table(runs, "seconds"))
    assert {name: cell.mark for (name, _), cell in seconds.items()} == {"none": "", "fps": "best", "fifo": "second"}
    assert "| fps | **1.0** |" in markdown(table(runs, "seconds"))


def test_controls_and_source_are_not_ranked():
    runs = [run("none", "source", 99.0), run("fifo", accuracy=40.0), run("fps", accuracy=60.0)]
    runs += [
        run("none", control=control, accuracy=90.0) for control in ("oracle", "same_samples", "running_statistics")
    ]
    found = cells(table(runs))
    assert found["none", "source"].mark == ""
    assert all(found[control, "norm"].mark == "" for control in CONTROLS)
    assert found["fps", "norm"].mark == "best"
    assert found["fifo", "norm"].mark == "second"


def test_a_column_with_one_memory_has_no_winner():
    assert not table([run(), run("none", control="oracle")]).has_marks


def test_missing_cells_and_cells_without_sense():
    found = table([run("none", "source", 40.0), run("none", "norm"), run("fps", "norm"), run("none", "tent")])
    text = markdown(found)
    assert "| fps | n/a | **50.0** (2.0 s) | · |" in text
    assert "· was not run" in text
    assert "n/a: a memory cannot change the source model" in text


def test_the_source_model_has_one_cell_whatever_memory_it_ran_with():
    found = table([run("fps", "source", 40.0), run("fifo", "source", 40.0), run("fps", "norm")])
    assert row_names(found) == ["none", "fps"]
    assert cells(found)["none", "source"].value == 40.0
    assert cells(found)["none", "source"].seeds == 1


def test_a_run_without_the_number_is_missing():
    found = table([run(accuracy=50.0), run("fifo", summary={"accuracy": None})])
    assert cells(found)["fifo", "norm"].number == "·"


def test_settings_that_differ_in_a_cell_make_rows_and_columns():
    sizes = [run(spec={"memory": {"name": "fps", "capacity": size}}, accuracy=size / 2, size=size) for size in (128, 8)]
    found = table([*sizes, run("none")])
    assert row_names(found) == ["none", "fps capacity=8", "fps capacity=128"]
    assert cells(found)["fps capacity=8", "norm"].value == 4.0
    rates = [run(spec={"method": {"name": "norm", "rate": rate}}, rate=rate) for rate in (0.1, 0.05)]
    assert table(rates).columns == ("norm rate=0.05", "norm rate=0.1")


def test_what_follows_from_another_setting_is_not_repeated():
    runs = [run(spec={"memory": {"name": "fps", "capacity": m}, "regime": {"batch_size": m}}, size=m) for m in (32, 64)]
    assert row_names(table(runs)) == ["fps capacity=32", "fps capacity=64"]
    pairings = {"paper": "batch", "memory": "running"}
    runs = [
        run(method="tent", spec={"pairing": p, "method": {"name": "tent", "statistics": s}}, pairing=p)
        for p, s in pairings.items()
    ]
    found = table(runs)
    assert row_names(found) == ["fps pairing=memory", "fps pairing=paper"]
    assert found.columns == ("tent",)


def test_settings_that_differ_between_cells_make_no_rows():
    runs = [run("fps", spec={"regime": {"adapt_every": 32}}), run("none", spec={"regime": {"adapt_every": 64}})]
    assert row_names(table(runs)) == ["none", "fps"]
    assert "Regime: adapt_every several (32, 64)." in table(runs).caption


def test_the_caption_says_the_set_up():
    caption = "\n".join(table([run(), run(seed=3)]).caption)
    for part in (
        "Recipe: mini.",
        "Data: bundled, images 250, severity 5; images per domain: 250.",
        "Model: resnet20.",
        "Stream: order dirichlet, gamma 0.1, schedule continual.",
        "Memory: capacity 32; pairing: paper.",
        "Regime: batch_size 64, adapt_every 32, reset never, score before.",
        "Seeds: 0, 3.",
    ):
        assert part in caption
    assert "several" not in caption


def test_what_differs_is_several():
    other = {
        "pairing": "memory",
        "stream": {"order": "iid"},
        "model": "vit",
        "memory": {"name": "fifo", "capacity": 64},
    }
    caption = "\n".join(table([run(), run("fifo", spec=other)]).caption)
    assert "Memory: capacity several (32, 64); pairing: several (paper, memory)." in caption
    assert "Model: several (resnet20, vit)." in caption
    assert "Stream: order several (dirichlet, iid), gamma 0.1, schedule continual." in caption


def test_long_lists_are_shortened_and_settings_of_methods_listed():
    spec = {"data": {"domains": [f"d{i}" for i in range(15)]}, "method": {"name": "norm", "rate": 0.05}}
    caption = "\n".join(table([run(spec=spec)]).caption)
    assert "domains d0 ... d14 (15)" in caption
    assert "Settings of each method: norm (rate 0.05)." in caption


def test_domains_are_columns_with_the_mean_last():
    found = domain_table([run(accuracy=50.0), run(accuracy=52.0, seed=1), run("none", "source", 30.0)])
    assert found.heading == ("method", "memory")
    assert found.columns == ("fog-5", "snow-5", "mean")
    assert [row.names for row in found.rows] == [("source", "none"), ("norm", "fps")]
    assert [cell.value for cell in found.rows[1].cells] == [41.0, 61.0, 51.0]
    errors = domain_table([run(accuracy=50.0)], "error")
    assert [cell.value for cell in errors.rows[0].cells] == [60.0, 40.0, 50.0]


def test_a_domain_visited_again_has_its_own_column():
    visits = [{"name": "fog", "accuracy": 10.0}, {"name": "snow", "accuracy": 20.0}, {"name": "fog", "accuracy": 30.0}]
    found = domain_table([run(summary={"online": {"domains": visits}})])
    assert found.columns == ("fog", "snow", "fog (2)", "mean")
    assert [cell.value for cell in found.rows[0].cells] == [10.0, 20.0, 30.0, 50.0]


def test_the_state_of_the_memory_cost_and_calibration():
    runs = [run(), run("none", "source", summary={"buffer": {}})]
    memory = memory_table(runs)
    assert [row.names for row in memory.rows] == [("norm", "fps")]  # the source model has nothing to show
    shown = dict(zip(memory.columns, (cell.number for cell in memory.rows[0].cells), strict=True))
    assert shown["occupancy"] == "1.00"
    assert shown["balance"] == "0.987"
    assert shown["purity"] == "·"
    assert shown["coverage"] == "0.1240"
    cost = cost_table(runs)
    shown = dict(zip(cost.columns, (cell.number for cell in cost.rows[1].cells), strict=True))
    assert shown == {
        "predict s": "0.25",
        "observe s": "0.25",
        "adapt s": "0.25",
        "refresh s": "·",
        "forwards": "3",
        "backwards": "1",
        "peak MB": "512",
        "run s": "2.0",
    }
    assert len(calibration_table(runs).rows) == 2


def test_plain_text_is_aligned_and_marked_without_colour():
    text = plain(table([run("none", accuracy=40.0), run("fifo", accuracy=45.0), run("fps", accuracy=60.0)]))
    lines = text.splitlines()
    assert lines[0] == "Accuracy (%)"
    assert "fps     60.0* (2.0 s)" in lines
    assert "fifo    45.0+ (2.0 s)" in lines
    assert "none    40.0 (2.0 s)" in lines
    assert "* best of a column; + second best" in text


def test_rich_shows_the_same_marks_without_colour():
    output = StringIO()
    runs = [run("none", accuracy=40.0), run("fps", accuracy=60.0), run("[red]", accuracy=30.0)]
    Console(file=output, width=200, no_color=True).print(rich_table(table(runs)))
    text = output.getvalue()
    assert "60.0* (2.0 s)" in text
    assert "40.0+ (2.0 s)" in text
    assert "[red]" in text  # a name is never markup
    assert "Seeds: 0." in text


def test_a_narrow_terminal_cuts_no_number():
    output = StringIO()
    methods = ["norm", "rotta", "note", "sar", "tent"]
    runs = [run("fps", method, 51.5, seed) for method in methods for seed in (0, 1)]
    Console(file=output, width=60, no_color=True).print(rich_table(table(runs)))
    assert output.getvalue().count("51.5") == 5


def test_no_runs_make_an_empty_table():
    found = table([])
    assert found.rows == ()
    for text in (markdown(found), plain(found)):
        assert "There are no finished runs." in text


def test_unknown_metrics_are_named():
    with pytest.raises(GottaError, match="Did you mean 'accuracy'"):
        table([run()], "acuracy")
    with pytest.raises(GottaError, match="metric of a domain 'seconds' is unknown"):
        domain_table([run()], "seconds")


def test_runs_of_different_data_never_share_a_table():
    quick = run(spec={"data": {"name": "bundled", "images": 80}}, quick=1)
    assert [[r.id for r in group] for group in setups([run(), quick, run(seed=1)])] == [
        ["norm-fps-0", "norm-fps-1"],
        ["norm-fps-0-1"],
    ]


def test_seeds_and_batch_sizes_of_a_stream_share_a_table():
    stream = {"order": "dirichlet", "gamma": 0.1}
    runs = [
        run(seed=seed, memory=memory, spec={"stream": stream | {"seed": seed, "batch_size": size}})
        for seed in (0, 1)
        for memory, size in (("none", 64), ("fps", 32))
    ]
    assert len(setups(runs)) == 1
    assert "Stream: order dirichlet, gamma 0.1, batch_size several (64, 32)." in table(runs).caption


def store_of(root, runs):
    store = Store(root)
    for r in runs:
        store.write(r.id, spec=r.spec, steps=[], summary=r.summary, environment=r.environment)
    return store


def test_the_report_has_every_part(tmp_path):
    runs = [run(), run(seed=1, accuracy=52.0), run("none"), run("none", "source", 30.0)]
    store = store_of(tmp_path, runs)
    text = report_markdown(store)
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings == [
        "# Report",
        "## mini",
        "### Accuracy (%)",
        "### Error (%)",
        "### Gain over no memory (points)",
        "### Win/tie/loss",
        "### Accuracy (%) per domain",
        "### Memory",
        "### Cost",
        "### Calibration",
        "## Environment",
    ]
    assert "4 finished runs." in text
    assert "On bundled with resnet20" in text
    assert "- python: 3.11.7" in text
    assert "| fps | n/a | **51.0** ± 1.0 (2.0 s) |" in text


def test_the_report_names_damaged_runs_and_set_ups(tmp_path):
    quick = run(spec={"data": {"name": "bundled", "images": 80}}, quick=1)
    store = store_of(tmp_path, [run(), quick, run(seed=1)])
    (tmp_path / "runs" / "norm-fps-1" / "summary.json").write_text('{"accuracy": 5')
    text = report_markdown(store)
    assert "## Set-up 1: mini" in text
    assert "## Set-up 2: mini" in text
    assert "## Damaged runs" in text
    assert "`norm-fps-1`: summary.json is not valid JSON" in text
    assert "2 finished runs." in text


def test_writing_the_report_twice_gives_the_same_file(tmp_path):
    store_of(tmp_path, [run(), run(seed=1)])
    path = write_report(tmp_path)
    first = path.read_bytes()
    assert path == tmp_path / "report.html"
    assert write_report(tmp_path).read_bytes() == first
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "report.html",
        "runs",
        "tables.csv",
        "tables.md",
        "tables.tex",
    ]


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(GottaError, match="no runs in"):
        write_report(tmp_path)
    assert list(tmp_path.iterdir()) == []
