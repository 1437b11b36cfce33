"""Error at each visit of a stream that recurs."""

from made_runs import domains_of, made, panel_of

from gotta.report.results import Chapter
from gotta.report.tables.details import domain_table, errors_by_visit, visits_table

ROUNDS = (50.0, 60.0, 40.0, 50.0, 30.0, 60.0)  # three visits to two domains


def recurring(memory="fps", scores=ROUNDS, seed=0, repeats=3):
    met = domains_of(scores, ("fog-5", "snow-5") * 3)
    return made(
        memory, seed=seed, summary={"online": {"domains": met}}, stream__schedule="recurring", stream__repeats=repeats
    )


def test_a_visit_is_the_mean_over_domains():
    assert errors_by_visit(recurring()) == [45.0, 55.0, 55.0]
    assert errors_by_visit(made()) == []
    assert errors_by_visit(recurring(repeats=4)) == []  # a run that does not fit its spec


def test_visits_are_columns_with_their_mean_and_what_the_last_adds():
    later = recurring(scores=tuple(score - 2 for score in ROUNDS), seed=1)
    table = visits_table(panel_of([recurring(), later, recurring("cstu")]))
    assert table.columns == ("visit 1", "visit 2", "visit 3", "mean", "last - first")
    assert [row.names for row in table.rows] == [("norm", "cstu"), ("norm", "fps")]
    assert [cell.number for cell in table.rows[1].cells] == ["46.0", "56.0", "56.0", "52.7", "10.0"]
    assert [cell.number for cell in table.rows[0].cells] == ["45.0", "55.0", "55.0", "51.7", "10.0"]


def test_a_stream_that_does_not_recur_has_no_such_table():
    assert not visits_table(panel_of([made()])).rows
    assert [table.title for table in Chapter(panel_of([recurring()])).details if table.rows][:2] == [
        "Accuracy (%) per domain",
        "Error (%) per visit",
    ]


def test_domains_of_a_recurring_stream_are_means_over_their_visits():
    table = domain_table(panel_of([recurring()]))
    assert table.columns == ("fog-5", "snow-5", "mean")
    assert [cell.number for cell in table.rows[0].cells][:2] == ["40.0", "56.7"]
