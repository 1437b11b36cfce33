"""What a cell shows."""

import pytest

from gotta.report.pairs import Difference
from gotta.report.statistics import estimate
from gotta.report.tables.cells import BEST, SECOND, Cell, Row, Table, of_difference, over_seeds, rank


def test_a_number_is_shown_with_what_must_be_known_of_it():
    cell = Cell(52.345, 1.25, seeds=2, seconds=3.04, tied=True)
    assert cell.number + cell.extras(2) == "52.3 ≈ ± 1.2 (3.0 s)"
    assert cell.extras(3) == " ≈ ± 1.2 (n=2, 3.0 s)"
    assert Cell(1.5, decimals=2, signed=True).number == "+1.50"
    assert (Cell().number, Cell().extras(1)) == ("·", "")


def test_two_seeds_have_half_their_range_and_none_nothing():
    assert over_seeds({0: 50.0, 1: 53.0}, 1).interval == 1.5
    assert over_seeds({0: 50.0, 1: 53.0}, 1, interval=False).interval is None
    assert over_seeds({}, 2) == Cell(decimals=2)


def test_a_difference_of_other_streams_is_unpaired_and_one_nobody_ran_is_missing():
    assert of_difference(Difference(None, refused=("seed 0: the streams differ",))).number == "unpaired"
    assert of_difference(Difference(None, refused=("seed 0: only one of the two was run",))).number == "·"
    shown = of_difference(Difference(estimate([[1.0, -1.0]]), (0,)))
    assert (shown.number, shown.tied) == ("+0.0", True)


@pytest.mark.parametrize(("higher", "marks"), [(True, ["", SECOND, BEST, ""]), (False, [BEST, SECOND, "", ""])])
def test_the_best_is_marked_among_those_that_compete(higher, marks):
    cells = [Cell(1.0), Cell(2.0), Cell(3.0), Cell(9.0, no_effect="it cannot")]
    found = rank([Row((str(k),), (cell,)) for k, cell in enumerate(cells)], 0, higher)
    assert [row.cells[0].mark for row in found] == marks


def test_footnotes_tell_each_reason_once():
    row = Row(("a",), (Cell(1.0, no_effect="x"), Cell(2.0, no_effect="x"), Cell(3.0, no_effect="y")))
    assert Table("t", ("m",), ("1", "2", "3"), (row,)).footnotes == ["† without effect: x", "† without effect: y"]
