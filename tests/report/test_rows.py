"""What a row and a column are decides what they are called; no name has a comma."""

from dataclasses import replace

import pytest
from made_runs import made, panel_of

from gotta.methods import methods
from gotta.report.rows import NO_MEMORY, RUNNING, Column, Row, column_of, name_cell, row_of, tell_rates

STICKY = {"method__prior": "sticky"}


@pytest.mark.parametrize(
    ("run", "row"),
    [
        (made("none"), NO_MEMORY),
        (made("fps"), Row("memory", "fps")),
        (made("fps", "source"), NO_MEMORY),  # no memory can change the source model
        (made("none", control="running_statistics"), RUNNING),
        (made("none", method__statistics="class"), Row("statistics", "class")),
        (made("none", "deskew", method__statistics="class"), NO_MEMORY),  # which are its own
    ],
)
def test_a_run_has_its_row(run, row):
    assert row_of(run) == row


def test_a_prior_makes_a_column_that_uses_the_order():
    assert column_of(made()) == Column("norm")
    sticky = column_of(made(**STICKY))
    assert (sticky.prior, sticky.uses_order, sticky.label) == ("sticky", True, "norm with sticky prior")
    assert column_of(made(**STICKY, method__order_in_batch="none")).per_batch
    assert column_of(made(**STICKY, stream__boundaries="hidden")).hidden


def test_the_empty_method_with_other_statistics_is_not_the_source_model():
    assert column_of(made("none", "source")).is_bare_source
    other = column_of(made("none", "source", method__statistics="batch", **STICKY))
    assert (other.is_source, other.label) == (False, "source (batch statistics) with sticky prior")
    assert name_cell(other, NO_MEMORY) == other.label
    panel = panel_of([made("none", "source"), made("none", "source", method__statistics="batch")])
    assert [column.label for column in panel.columns] == ["source", "source (batch statistics)"]
    assert panel.source.column == Column("source")
    assert [cell.label for cell in panel.methods] == ["source (batch statistics)"]


def test_methods_that_use_the_mix_of_a_batch_are_marked_too():
    marked = [name for name in methods.names() if column_of(made("none", name)).uses_order]
    assert marked == ["cofa", "lame", "roid"]


def test_no_name_has_a_comma_so_that_it_can_stand_in_a_list():
    rates = (("norm", 0.2), ("rotta", 0.1))
    rows = [
        *(Row("memory", "fps", rates), Row("memory", "fps", (), (("memory.arguments.epsilon", 0.1),))),
        *(RUNNING, replace(RUNNING, best_rates=rates), Row("statistics", "class"), NO_MEMORY),
    ]
    columns = [Column("norm"), Column("source"), Column("deskew", "sticky", True, True, True, (("method.rate", 0.1),))]
    names = [name_cell(column, row) for column in columns for row in rows]
    assert not [name for name in [*names, *(row.label for row in rows)] if "," in name]
    assert name_cell(columns[0], rows[0]) == "norm + fps at best rate (norm 0.2; rotta 0.1)"
    assert name_cell(Column("norm", "sticky"), RUNNING) == "norm + running statistics (control) with sticky prior"
    assert tell_rates(rates[:1]) == "0.2"
