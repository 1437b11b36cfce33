from small_recipe import RECIPE

from gotta.experiment.recipe.recipe import Recipe, load_recipe
from gotta.workflow.bench_plan import Grid


def test_a_grid_counts_runs_per_seed_by_method_and_memory():
    grid = Grid.of(Recipe.model_validate(RECIPE).runs())
    assert grid.columns == ("source", "norm", "tent")
    assert grid.rows == ("none", "fps", "control: same samples")
    assert grid.counts == {
        ("none", "source"): 1,
        ("none", "norm"): 1,
        ("fps", "norm"): 1,
        ("control: same samples", "norm"): 1,
        ("fps", "tent"): 4,
    }
    assert grid.varied == {"memory.capacity": ("4", "8"), "memory.epsilon": ("0.1", "0.2")}


def test_a_grid_as_text():
    assert str(Grid.of(Recipe.model_validate(RECIPE).runs())).splitlines() == [
        "runs per seed          source  norm  tent",
        "none                        1     1     .",
        "fps                         .     1     4",
        "control: same samples       .     1     .",
        "memory.capacity: 4, 8",
        "memory.epsilon: 0.1, 0.2",
    ]


def test_the_grid_of_a_table_of_the_paper_is_the_table():
    grid = Grid.of([spec for spec in load_recipe("table1").runs(model={"weights": "random"}) if not spec.control])
    assert (len(grid.rows), len(grid.columns)) == (9, 11)  # the paper's eight memories, and cbfifo
    assert set(grid.counts.values()) == {1}
    assert grid.varied == {}
