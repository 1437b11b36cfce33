"""What a cell shows."""

import pytest
from made_runs import made

from gotta.report.cells import BEST, SECOND, Cell, Line, Table, measure, number, of_difference, rank
from gotta.report.pairs import Difference
from gotta.report.statistics import estimate


def test_a_number_is_shown_with_what_must_be_known_of_it():
    cell = Cell(52.345, 1.25, seeds=2, tied=True, uses_order=True)
    assert cell.number + cell.extras(2) == "52.3 ≈» ± 1.2"
    assert cell.extras(3) == " ≈» ± 1.2 n=2"
    assert Cell(1.5, decimals=2, signed=True).number == "+1.50"
    assert (Cell().number, Cell().extras(1)) == ("·", "")


@pytest.mark.parametrize(("seeds", "spread"), [(1, ""), (2, "(53.0 to 54.0)"), (3, "± 2.5")])
def test_too_few_seeds_for_an_interval_have_their_range(seeds, spread):
    runs = [made(scores=(50.0 + k, 52.0 + k, 54.0 + k, 56.0 + k), seed=k) for k in range(seeds)]
    found = measure(runs, number("accuracy"))
    assert (found.seeds, found.spread, found.runs) == (seeds, spread, tuple(run.id for run in runs))
    assert measure(runs, number("accuracy"), interval=False).spread == ""
    assert measure(runs, number("nothing"), 2) == Cell(decimals=2)


def test_a_difference_of_other_streams_is_unpaired():
    assert of_difference(Difference(None, refused=("seed 0: the streams differ",))).number == "unpaired"
    shown = of_difference(Difference(estimate([[1.0, -1.0]]), (0,)))
    assert (shown.number, shown.tied, shown.spread) == ("+0.0", False, "(-1.0 to +1.0)")


@pytest.mark.parametrize(("higher", "marks"), [(True, ["", SECOND, BEST, ""]), (False, [BEST, SECOND, "", ""])])
def test_the_best_is_marked_among_those_that_compete(higher, marks):
    cells = [Cell(1.0), Cell(2.0), Cell(3.0), Cell(9.0, no_effect="it cannot")]
    assert [cell.mark for cell in rank(cells, [True] * 4, higher)] == marks


def test_what_uses_the_order_is_ranked_by_itself():
    cells = [Cell(1.0), Cell(2.0), Cell(8.0, uses_order=True), Cell(9.0, uses_order=True)]
    assert [cell.mark for cell in rank(cells, [True] * 4, higher=True)] == [SECOND, BEST, SECOND, BEST]


def test_only_marks_that_are_there_are_explained():
    table = Table("t", ("m",), ("1", "2"), (Line(("a",), (Cell(1.0, other_steps=True), Cell(2.0, uses_order=True))),))
    assert table.legend == [
        "≠ not comparable with the best (other steps)",
        "» uses the order of samples or the mix of a batch",
    ]


def test_footnotes_tell_each_reason_once():
    row = Line(("a",), (Cell(1.0, no_effect="x"), Cell(2.0, no_effect="x"), Cell(3.0, no_effect="y")))
    assert Table("t", ("m",), ("1", "2", "3"), (row,)).footnotes == ["† without effect: x", "† without effect: y"]
