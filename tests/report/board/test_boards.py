"""What is ranked with what, and how."""

import pytest
from made_runs import made
from report.board.made_boards import ranked_runs

from gotta.report.board import rank_runs

VIDEO = {
    "stream__schedule": "one",
    "stream__domains": "gaussian_noise",
    "regime__reset": "each_domain",
}


def board():
    boards, others = rank_runs(list(ranked_runs()))
    assert (len(boards), others) == (1, 0)
    return boards[0]


def told(board):
    return [(place.rank, place.entry.column.method, place.row.name) for place in board.places]


def test_entries_are_ranked_by_score_apart_from_those_that_use_the_order():
    places = board().places
    assert [found for found in told(board()) if found[0]] == [
        (1, "tent", "fps"),
        (2, "norm", "fps"),
        (3, "tent", "fifo"),
        (4, "norm", "fifo"),
        (1, "deskew", "none"),
    ]
    unranked = {(place.entry.column.method, place.row.is_control) for place in places if place.rank is None}
    assert unranked == {("source", False), ("norm", True), ("tent", True)}
    assert [table.title for table in board().tables] == [
        "Each sample on its own",
        "Uses the order of samples or the mix of a batch",
    ]


def test_those_with_too_few_seeds_stand_below():
    runs = [made("fps", "norm", (60, 61, 62, 63), seed) for seed in range(3)]
    (found,), _ = rank_runs([*runs, made("fifo", "norm", (80, 81, 82, 83))])
    assert told(found) == [(2, "norm", "fps"), (1, "norm", "fifo")]


def test_those_that_were_run_again_stand_first():
    runs = [made("fps", "norm", (60, 61, 62, 63)), made("fifo", "norm", (80, 81, 82, 83))]
    (found,), _ = rank_runs(runs, {runs[0].id})
    assert [(place.row.name, place.verified) for place in found.places] == [("fps", True), ("fifo", False)]


def test_an_entry_tells_its_interval_cost_steps_and_the_published_number():
    place = next(place for place in board().places if place.entry.name == "norm + fps")
    assert place.score.value == pytest.approx((63 + 64 + 65 + 66) / 4 + 0.1)
    assert place.score.interval > 0
    assert [cell.number for cell in place.line.cells] == ["2", "64.6", "3", "32", "2.0", "3.00", "76.11", ""]
    assert board().title == "cifar10-mini, resnet20, 4 domains of 250 samples, M = 32"


def test_what_is_not_significantly_different_from_the_first_is_marked():
    runs = [made("fps", "norm", (60, 61, 62, 63), seed) for seed in range(3)]
    runs += [made("fifo", "norm", (59.7, 61.2, 61.8, 63), seed) for seed in range(3)]
    runs += [made("cstu", "norm", (50, 51, 52, 53), seed) for seed in range(3)]
    (found,), _ = rank_runs(runs)
    assert [(place.row.name, place.score.tied) for place in found.places] == [
        ("fps", False),
        ("fifo", True),
        ("cstu", False),
    ]


def test_other_networks_and_other_protocols_have_boards_of_their_own_and_the_rest_is_counted():
    runs = [made(), made(model__name="resnet20-gn"), made(stream__order="iid"), made(stream__gamma=0.7)]
    boards, others = rank_runs(runs)
    assert [(board.protocol.name, board.panel.runs[0].spec.model.name) for board in boards] == [
        ("ptta-1", "resnet20"),
        ("ptta-1", "resnet20-gn"),
        ("iid-1", "resnet20"),
    ]
    assert others == 1
    assert [board.anchor for board in boards] == ["ptta-1-1", "ptta-1-2", "iid-1-1"]


def test_equal_numbers_share_a_rank():
    levels = {"fps": 60.0, "cds": 60.04, "fifo": 50.0}
    (found,), _ = rank_runs([made(name, scores=(level,) * 4) for name, level in levels.items()])
    assert told(found) == [(1, "norm", "cds"), (1, "norm", "fps"), (3, "norm", "fifo")]


def test_runs_on_a_part_of_the_data_are_shown_last_and_not_ranked():
    small = [made(memory, stream__per_class=10, scores=(99.0,) * 4) for memory in ("fps", "fifo")]
    full = {"online": {"domains": [{"name": f"d{k}", "samples": 2000, "accuracy": 50.0} for k in range(4)]}}
    whole = [made(memory, stream__per_class=200, summary=full) for memory in ("fps", "fifo")]
    found, _ = rank_runs([*small, *whole])
    assert [board.whole for board in found] == [True, False]
    assert [place.rank for place in found[0].places] == [1, 1]
    assert [place.rank for place in found[1].places] == [None, None]
    assert [board.whole for board in rank_runs([made(data__name="gtsrb", stream__clips=80, **VIDEO)])[0]] == [False]


def test_variants_of_a_memory_have_no_rank_beside_it_as_it_comes():
    better = {"scores": (90.0,) * 4}
    runs = [
        made("fps"),  # as it comes
        made("fps", memory__arguments={"order": "evict_first"}, **better),
        made("cds", memory__arguments={"ties": "later", "one_row": "compare"}, **better),
        made("cds", memory__arguments={"ties": "later"}),
        made("fifo"),
    ]
    (found,), _ = rank_runs(runs)
    ranked = {place.row.name: place for place in found.places if not place.variant}
    assert {place.rank for place in ranked.values()} == {1}
    assert sorted(ranked) == ["cds", "fifo", "fps"]
    assert ranked["cds"].entry.runs[0].spec.memory.arguments == {"ties": "later"}  # the fewest of its own, not the best
    assert ranked["fps"].row.label == "fps"
    assert [place.rank for place in found.places if place.variant] == [None, None]
    assert found.tables[-1].title.startswith("Variants")


def test_a_variant_that_is_alone_is_ranked_under_its_name():
    (found,), _ = rank_runs([made("fps", memory__arguments={"epsilon": 0.1}), made("fifo", scores=(20.0,) * 4)])
    assert [(place.rank, place.variant) for place in found.places] == [(1, False), (2, False)]


def test_where_classes_are_rare_the_mean_over_classes_ranks_and_no_tie_is_told():
    def rare(memory, accuracy, of_classes):
        for seed in range(3):
            run = made(memory, "norm", (accuracy,) * 4, seed, stream__class_imbalance=100.0)
            online = {**run.stored.summary["online"], "class_accuracy": of_classes}
            yield made(memory, "norm", (accuracy,) * 4, seed, stream__class_imbalance=100.0, summary={"online": online})

    (found,), others = rank_runs([*rare("fps", 60.0, 40.0), *rare("fifo", 60.0, 50.0)])
    assert (found.protocol.name, others) == ("imbalance-1", 0)
    assert [(place.row.name, place.score.value, place.score.tied) for place in found.places] == [
        ("fifo", 50.0, False),
        ("fps", 40.0, False),
    ]
    assert {place.line.cells[6].value for place in found.places} == {None}  # nothing is published
