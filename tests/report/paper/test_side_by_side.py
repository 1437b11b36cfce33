"""Our numbers beside the published ones."""

from made_runs import made, panel_of

from gotta.report.paper.side_by_side import beside, beside_table, find_published

FLAT = (70.0, 70.0, 70.0, 70.0)


def test_a_run_finds_the_number_of_its_setting():
    assert find_published(made("fps")).value == 76.11
    assert find_published(made("fps", memory__capacity=8)).value == 52.44
    assert (
        find_published(
            made("cds", "rotta", data__name="imagenet-c", memory__capacity=64, regime__reset="each_domain")
        ).value
        == 38.65
    )
    vit = made(
        "fpsd",
        "note",
        data__name="imagenet-c",
        model__name="vit_b_16",
        memory__capacity=64,
        regime__reset="each_domain",
    )
    assert find_published(vit).value == 58.38
    assert find_published(made("fps", memory__arguments={"epsilon": 0.005})).value == 76.11


def test_another_setting_has_no_published_number():
    for run in (
        made("hus"),
        made("fps", memory__capacity=128),
        made("fps", stream__gamma=0.5),
        made("fps", stream__severity=3),
        made("fps", stream__order="iid"),
        made("fps", stream__class_imbalance=10.0),
        made("fps", stream__duplicates=2),
        made("fps", stream__schedule="recurring", stream__repeats=20),
        made("fps", memory__arguments={"epsilon": 0.01}),
        made("fps", method__embedding="features"),
        made("none", control="running_statistics"),
        made("fps", pairing="memory"),
        made("fps", data__name="cifar100-c"),
        made("fps", regime__reset="each_domain"),
        made("fps", regime__clock="forwards"),
        made("fps", regime__expose_every=4),
        made("fps", stream__foreign=0.2),
    ):
        assert find_published(run) is None, run.id


def test_a_row_without_memory_is_of_the_table_with_the_same_capacity():
    for capacity, value in ((32, 14.8), (64, 16.5)):
        runs = [made("none", "tent", memory__capacity=None), made("fps", "tent", memory__capacity=capacity)]
        assert beside(panel_of(runs)).pairs[0].published.value == value


def test_ours_published_difference_and_ranking():
    scores = {"none": 60.0, "fifo": 71.0, "reservoir": 65.0, "fps": 70.0}
    runs = [made(memory, scores=(score,) * 4, seed=seed) for memory, score in scores.items() for seed in (0, 1)]
    found = beside(panel_of(runs))
    assert [(p.memory, p.published.value, round(p.difference, 2)) for p in found.pairs] == [
        ("none", 24.75, 35.25),
        ("fifo", 72.63, -1.63),
        ("reservoir", 50.5, 14.5),
        ("fps", 76.11, -6.11),
    ]
    assert found.taus["norm"].tau == (5 - 1) / 6  # fifo and fps have changed places
    text = "\n".join(beside_table(found).caption)
    assert "norm +0.67 (n=4)" in text
    for part in ("Backbone: ours resnet20, published wrn-28-10.", "Samples per corruption: ours 250, published 10000."):
        assert part in text


def test_inconsistencies_of_the_paper_are_told_where_they_touch():
    assert (
        "1 known inconsistencies"
        in beside_table(beside(panel_of([made("none", "tent"), made("fps", "tent")]))).caption[-1]
    )


def test_where_nothing_is_published_there_is_nothing_to_set_beside():
    assert beside(panel_of([made("hus")])) is None


def test_cells_of_the_paper_by_memory_and_method_with_their_flags():
    found = beside(panel_of([made(memory, method) for method in ("norm", "tent") for memory in ("none", "fps")]))
    assert (tuple(found.columns), tuple(found.cells)) == (("norm", "tent"), ("none", "fps"))
    assert found.cells["fps"]["norm"].published.value == 76.11
    flagged = {(m, k): found.notes(pair) for m, row in found.cells.items() for k, pair in row.items()}
    assert {number for numbers in flagged.values() for number in numbers} == set(range(1, len(found.flags) + 1))
    assert flagged["none", "tent"]
    assert found.differs


def test_ranks_are_of_the_memories_that_both_have():
    scores = {"none": 60.0, "fifo": 71.0, "reservoir": 71.01, "fps": 70.0, "mine": 99.0}
    found = beside(panel_of([made(memory, scores=(score,) * 4) for memory, score in scores.items()]))
    assert [(pair.memory, found.ranks(pair)[0]) for pair in found.pairs] == [
        *(("none", 4), ("fifo", 1), ("reservoir", 1), ("fps", 3))
    ]
    assert found.ranks(found.cells["fps"]["norm"])[1] == 1
    assert beside(panel_of([made("fps")])).taus == {}  # one alone has no rank
