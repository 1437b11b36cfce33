"""The recipes that come with gotta, read beside the paper, and the page that tells how to write one."""

import re
from itertools import product
from pathlib import Path

import pytest

from gotta import GottaError
from gotta.experiment.recipe.recipe import load_recipe, recipes
from gotta.experiment.run.run import run
from gotta.experiment.spec.completing import CONTROLS
from gotta.experiment.spec.run_spec import RunSpec
from gotta.memory import Memory
from gotta.memory.policy import make_policy
from gotta.models import bundled
from gotta.streams.schedule import name_list
from gotta.types import CORRUPTIONS

PAGE = Path(__file__).parents[3] / "docs" / "recipes.md"
EIGHT = {"none", "fifo", "reservoir", "pbrs", "cstu", "cds", "fps", "fpsd"}
PAPER = ("table1", "table2", "table3", "table-m64", "table-vit", "epsilon", "capacity", "settings")
TABLES = ("table1", "table2", "table3", "table-m64", "table-vit")
OURS = ("controls", "factors", "severity", "embedding", "refresh", "quota", "realtime")
TINY = {"per_class": 1, "domains": ["snow", "fog"]}


def names(section, cells):
    return {cell.get(section, {}).get("name") for cell in cells}


def bundled_form(name):
    """The cells of the full recipe on bundled images, for a machine that lacks the paper's data."""
    model = "vit-mini" if name == "table-vit" else "resnet20"
    if model not in bundled():
        pytest.skip(f"the weights of {model} are not bundled")
    return load_recipe(name).runs(seeds=[0], data={"name": "cifar10-mini"}, model={"name": model})


def test_every_table_and_figure_has_its_recipe():
    assert {*PAPER, *OURS, "mini", "long", "full"} <= set(recipes())
    assert all(load_recipe(name).paper for name in PAPER)
    assert all(load_recipe(name).note for name in (*PAPER, "itd"))
    fewer = {name for name in recipes() if len(load_recipe(name).seeds) < 3}
    assert fewer == {"advise", "choosing", "full-statistics", "prior", "short", "statistics", "when"}


@pytest.mark.parametrize(
    ("name", "cells"),
    # The numbers that the paper's tables hold; table 2 repeats its two no-memory runs in four columns.
    [
        ("table1", 1 + 10 * 8),
        ("table2", 2 * 7 * 4 - 2 * 3),
        ("table3", 6 * 6),
        ("table-m64", 1 + 10 * 8),
        ("table-vit", 5 * 2),
    ],
)
def test_tables_have_the_cells_of_the_paper(name, cells):
    assert len(_paper_cells(name)) == cells


def _paper_cells(name):
    """Without what we add: controls, and the class-balanced FIFO."""
    cells = [cell for cell in load_recipe(name).sections() if "control" not in cell]
    return [cell for cell in cells if cell.get("memory", {}).get("name") != "cbfifo"]


@pytest.mark.parametrize("name", [*TABLES, "itd", "signs", "long", "full"])
def test_every_method_has_every_control(name):
    found = {}
    for cell in load_recipe(name).sections():
        if cell["method"]["name"] != "source" and cell.get("memory", {}).get("name") != "none":
            key = cell["method"]["name"], cell.get("stream", {}).get("gamma"), cell.get("memory", {}).get("capacity")
            found.setdefault(key, set()).add(cell.get("control"))
    assert found
    for (method, _, _), controls in found.items():
        assert controls - {None} == set(CONTROLS) - (set() if method == "norm" else {"domain_statistics"}), method


def test_one_recipe_of_bundled_images_has_every_control_for_norm():
    cells = [cell for cell in load_recipe("short").sections() if cell["method"]["name"] == "norm"]
    assert {cell.get("control") for cell in cells} == {None, *CONTROLS}


def test_eata_has_clean_samples_wherever_it_is_run():
    with_eata = {
        name for name in recipes() for cell in load_recipe(name).sections() if cell["method"]["name"] == "eata"
    }
    assert with_eata == {"table1", "table-m64", "full", "realtime", "on-top"}
    for name in with_eata:
        specs = load_recipe(name).runs(seeds=[0], data={"name": "cifar10-mini"}, model={"name": "resnet20"})
        fishers = [spec.method.arguments.get("fisher") for spec in specs if spec.method.name == "eata"]
        assert fishers
        assert all(fisher == {"data": "bundled", "number": 500, "seed": 0} for fisher in fishers)
    assert {"eata", "eta"} <= {cell["method"]["name"] for cell in load_recipe("full").sections()}


@pytest.mark.parametrize(
    ("name", "data", "sizes"),
    [("readings", {"cifar10-mini", "gtsrb"}, (8, 32, 64)), ("readings-tiny", {"tinyimagenet"}, (8, 64))],
)
def test_the_readings_are_all_there_for_every_size(name, data, sizes):
    recipe = load_recipe(name)
    assert recipe.seeds == [0, 1, 2]
    assert names("data", recipe.sections()) == data
    fps = {("fps", a, o) for a in ("all", "remaining") for o in ("check_first", "evict_first")}
    cds = {("cds", t, r) for t in ("score", "earlier", "later") for r in ("cstu", "compare")}
    for size, chosen in product(sizes, data):
        memories = [
            cell["memory"]
            for cell in recipe.sections()
            if cell["data"]["name"] == chosen and cell["memory"]["capacity"] == size
        ]
        readings = {
            (m["name"], *(m[key] for key in ("against", "order", "ties", "one_row") if key in m)) for m in memories
        }
        assert readings == fps | cds | {("cstu",), ("fpsd",)}
        assert len(memories) == len(readings)
    assert {spec.data.name for spec in recipe.runs("quick")} == {"cifar10-mini"}


def test_figures_have_the_cells_of_the_paper():
    thresholds, without, none = 3 * 3, 4, 1
    assert len(load_recipe("epsilon").sections()) == 3 * 2 * (2 * (thresholds + without) + none)
    assert len(load_recipe("capacity").sections()) == 3 * (7 * 4 + 1)
    assert len(load_recipe("settings").sections()) == 4 * (1 + 4 * 8)
    for name in ("epsilon", "capacity", "settings", "table1", "table-m64"):
        assert names("memory", [cell for cell in _paper_cells(name) if cell["method"]["name"] != "source"]) == EIGHT, (
            name
        )


@pytest.mark.parametrize("name", PAPER + OURS)
def test_full_size_is_the_papers_data_and_three_seeds(name):
    recipe = load_recipe(name)
    assert len(recipe.seeds) >= 3
    expected = "imagenet_c" if name in ("table3", "table-vit") else "cifar10_c"
    assert names("data", recipe.sections()) == {expected}
    assert all(cell["model"]["weights"] for cell in recipe.sections())
    assert names("data", recipe.sections("quick")) == {"cifar10-mini"}
    assert len(recipe.quick.seeds) == 1
    assert len(recipe.runs(model={"weights": "random"})) == len(recipe.seeds) * len(recipe.sections())


@pytest.mark.parametrize(
    "name", ["table1", "table2", "table-m64", "epsilon", "capacity", "settings", "table3", "table-vit"]
)
def test_memory_rows_take_steps_of_m_and_the_others_64(name):
    specs = bundled_form(name)
    for spec in specs:
        size = spec.memory.capacity if spec.has_memory or spec.control else 64
        assert (spec.regime.name, spec.regime.batch_size) == ("steps_of_M", size)
        assert spec.regime.adapt_every == (spec.memory.capacity if spec.has_memory else None)
    if any(spec.has_memory and spec.memory.capacity != 64 for spec in specs):
        changed = load_recipe(name).runs("quick", regime={"name": "fixed"})
        assert {spec.regime.batch_size for spec in changed if not spec.control} == {64}


def test_protocols():
    resets = {
        name: {spec.regime.reset for spec in bundled_form(name)} for name in ("table1", "table2", "table3", "epsilon")
    }
    assert resets == {
        "table1": {"never"},
        "table2": {"never"},
        "table3": {"each_domain"},
        "epsilon": {"never", "each_domain"},
    }
    assert {spec.stream["gamma"] for spec in bundled_form("table3")} == {0.1, 1e-4}
    assert {spec.memory.arguments.get("epsilon") for spec in bundled_form("epsilon")} == {None, 0.001, 0.005, 0.01}
    four = {(spec.stream["order"], spec.regime.reset) for spec in bundled_form("settings")}
    assert four == {("iid", "each_domain"), ("iid", "never"), ("dirichlet", "each_domain"), ("dirichlet", "never")}


def test_video_is_as_the_paper_says():
    cells = [cell for cell in load_recipe("itd").sections() if cell["method"]["name"] != "source" and "memory" in cell]
    columns = [cell for cell in cells if "control" not in cell]
    assert {(cell["method"]["name"], cell["memory"]["name"]) for cell in columns} == {
        (method, memory)
        for method in ("norm", "rotta", "note")
        for memory in ("none", "reservoir", "pbrs", "cstu", "cds", "fps")
    }
    for cell in columns:
        stream = cell["stream"]
        assert (stream["clips"], stream["frames"], stream["domains"]) == (1024, 32, "gaussian_noise")
        assert (stream["gamma"], stream["severity"], cell["memory"]["capacity"]) == (0.1, 5, 32)
        assert (cell["regime"]["reset"], cell["model"]["name"]) == ("each_domain", "resnet18")


def test_what_recipes_leave_open_is_what_their_notes_say():
    for name in ("cds", "fps", "fpsd"):
        assert make_policy(name, {}).epsilon == 0.005
    assert Memory("fpsd", 32, 10).refresh_every == 10
    rates = {"norm": 0.05, "note": 0.01, "rotta": 0.05}
    for spec in bundled_form("table1"):
        if spec.has_memory and not spec.control:
            running = spec.method.name in rates
            assert spec.method.statistics == ("running" if running else "batch")
            assert spec.method.rate == rates.get(spec.method.name)
        assert spec.regime.score == ("after" if spec.method.name == "energy" else "before")


def test_presets_are_those_the_notes_name():
    presets = {(spec.method.name, spec.method.arguments.get("preset", "official")) for spec in bundled_form("table1")}
    assert {name for name, preset in presets if preset == "tea"} == {"sar", "eata"}
    assert len(presets) == 11


@pytest.mark.thorough
@pytest.mark.parametrize("name", [*PAPER, *OURS])
@pytest.mark.filterwarnings("ignore:.*underflowed")  # gamma = 1e-4 does, as published
def test_a_cell_of_every_recipe_runs_in_its_quick_form(name):
    if name == "table-vit" and "vit-mini" not in bundled():
        pytest.skip("the weights of vit-mini are not bundled")
    specs = load_recipe(name).runs("quick")
    last = specs[-1].model_dump()
    regime = {**last["regime"], "batch_size": 8, "adapt_every": last["regime"]["adapt_every"] and 8}
    _, summary = run(RunSpec.of({**last, "stream": {**last["stream"], **TINY}, "regime": regime}))
    assert summary["online"]["samples"] == 20


def test_the_page_lists_every_recipe_with_its_number_of_cells():
    listed = PAGE.read_text()
    for name in set(recipes()) - {"mini", "long", "full"}:
        row = re.search(rf"^\| `{name}` \|.*?\| (\d+) \|", listed, re.MULTILINE)
        assert row, name
        assert int(row[1]) == len(load_recipe(name).sections()), name
    counts = ", ".join(str(len(load_recipe(name).sections())) for name in ("mini", "long", "full"))
    assert f"| `mini`, `long`, `full` | ours | {counts} |" in listed


@pytest.mark.parametrize("name", ["long", "signs", "full"])
def test_memories_and_control_have_a_second_row_at_their_best_rate(name):
    cells = [cell for cell in load_recipe(name).sections() if cell["method"]["name"] in ("norm", "rotta", "note")]
    asked = [cell for cell in cells if cell["method"].get("rate") == "best"]
    for method in {cell["method"]["name"] for cell in cells}:
        usual = {cell.get("control") or cell["memory"]["name"] for cell in cells if cell["method"] == {"name": method}}
        best = {cell.get("control") or cell["memory"]["name"] for cell in asked if cell["method"]["name"] == method}
        assert best == usual - {"none", *CONTROLS} | {"running_statistics"}


def test_rates_are_chosen_on_corruptions_that_no_other_recipe_scores():
    chosen = {"speckle_noise", "gaussian_blur", "spatter", "saturate"}
    assert set(load_recipe("statistics").base["stream"]["domains"]) == chosen
    assert not chosen & set(CORRUPTIONS), "which all orders of domains are of"
    for name in set(recipes()) - {"statistics", "full-statistics"}:
        streams = [cell.get("stream", {}) for cell in load_recipe(name).sections()]
        assert not [stream for stream in streams if chosen & set(name_list(stream.get("domains", ())))], name


def test_the_recipe_on_the_page_runs(tmp_path):
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    recipe = load_recipe(str(path))
    assert len(recipe.runs()) == 3 * 2 * 3 + 2 * 2 * (2 * 2)  # the second block has two seeds
    quick = recipe.runs("quick")
    assert len(quick) == 3 + 2 * 2
    assert {spec.memory.capacity for spec in quick} == {16}
    assert {spec.pairing for spec in quick if spec.memory.name == "fps"} == {"memory"}
    _, summary = run(quick[-1])
    assert summary["online"]["samples"] == 40


def test_unknown_recipe_names_the_nearest():
    with pytest.raises(GottaError, match="Did you mean 'table1'"):
        load_recipe("tabel1")


@pytest.mark.parametrize("name", ["table1", "table2", "full", "mini"])
def test_a_study_is_the_same_cells_at_the_papers_length_on_five_corruptions(name):
    recipe = load_recipe(name)
    study = recipe.runs("study", seeds=[0], memories=["fps"], methods=["norm"])
    assert {spec.method.name for spec in study} == {"norm"}
    for spec in study:
        assert (spec.data.name, spec.model.name, spec.seed) == ("cifar10_c", "resnet20", 0)
        assert spec.stream["domains"] == ["gaussian_noise", "defocus_blur", "snow", "contrast", "pixelate"]
        assert spec.stream["per_class"] is spec.stream["limit"] is None
        assert spec.stream["severity"] == 5
    study_rows, rows = (
        {(spec.memory.name, spec.control) for spec in specs}
        for specs in (study, recipe.runs(memories=["fps"], methods=["norm"]))
    )
    assert study_rows <= rows if recipe.study.cells else study_rows == rows


def test_studies_of_the_paper_share_runs():
    study = {name: {spec.id for spec in load_recipe(name).runs("study", seeds=[0])} for name in PAPER}
    assert {name: len(ids) for name, ids in study.items()} == {
        "table1": 64, "table2": 80, "table3": 18, "table-m64": 59, "table-vit": 13, "epsilon": 100, "capacity": 105,
        "settings": 60,
    }  # fmt: skip
    assert len(set().union(*study.values())) == 306
    assert study["table2"] <= study["capacity"]


@pytest.mark.parametrize("name", ["table-m64", "table2", "capacity", "epsilon", "settings"])
def test_rows_without_a_memory_are_those_of_table_1(name):
    def without(recipe, variant):
        specs = load_recipe(recipe).runs(variant, seeds=[0])
        return {spec.id for spec in specs if spec.memory.name == "none" and not spec.control and is_practical(spec)}

    def is_practical(spec):
        return spec.regime.reset == "never" and spec.stream["order"] == "dirichlet" and spec.method.name != "tent"

    for variant in ("", "study"):
        assert without(name, variant)
        assert without(name, variant) <= without("table1", variant)


def test_a_variant_nobody_knows_is_refused():
    with pytest.raises(GottaError, match=r"variant of a recipe 'studdy' is unknown\. Did you mean 'study'"):
        load_recipe("mini").runs("studdy")
