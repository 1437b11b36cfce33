"""What varies in the specs decides which runs share a table."""

from made_runs import made

from gotta.report.axes import panels
from gotta.report.tables.comparison import table


def names(panel):
    return sorted({f"{run.spec['method']['name']}+{run.spec['memory']['name']}" for run in panel.runs})


def test_one_set_up_is_one_panel_without_a_title():
    found = panels([made(), made(seed=1), made("none", regime__batch_size=64)])
    assert [panel.title for panel in found] == [""]
    assert len(found[0].runs) == 3


def test_capacities_make_panels_and_share_what_has_no_memory():
    runs = [made("none", memory__capacity=None), made("none", "source", memory__capacity=None)]
    runs += [made(memory, memory__capacity=m, regime__batch_size=m) for memory in ("fps", "fifo") for m in (64, 8)]
    found = panels(runs)
    assert [panel.title for panel in found] == ["capacity 8", "capacity 64"]
    for panel in found:
        assert names(panel) == ["norm+fifo", "norm+fps", "norm+none", "source+none"]
        assert [row.names[0] for row in table(panel.runs).rows] == ["none", "fifo", "fps"]


def test_a_row_without_memory_run_at_every_capacity_stands_once_in_each():
    runs = [made(memory, memory__capacity=m) for memory in ("none", "fps") for m in (8, 16)]
    found = panels(runs)
    assert [[run.spec["memory"]["capacity"] for run in panel.runs] for panel in found] == [[8, 8], [16, 16]]


def test_resets_gammas_and_capacities_combine():
    runs = [
        made(memory__capacity=m, regime__reset=reset, stream__gamma=gamma)
        for m in (32, 64)
        for reset in ("never", "each_domain")
        for gamma in (0.1, 0.0001)
    ]
    titles = [panel.title for panel in panels(runs)]
    assert len(titles) == 8
    assert titles[0] == "gamma 0.0001, capacity 32, reset each_domain"
    assert titles[-1] == "gamma 0.1, capacity 64, reset never"


def test_a_combination_nobody_ran_has_no_panel():
    runs = [made(memory__capacity=8), made(memory__capacity=16, regime__reset="each_domain"), made(memory__capacity=16)]
    runs += [made("none", "source")]
    assert [panel.title for panel in panels(runs)] == [
        "capacity 8, reset never",
        "capacity 16, reset each_domain",
        "capacity 16, reset never",
    ]


def test_settings_of_one_memory_make_rows_and_of_a_method_columns():
    runs = [made(memory__arguments={"epsilon": e}) for e in (0.001, 0.01)] + [made("none")]
    (panel,) = panels(runs)
    assert [row.names[0] for row in table(panel.runs).rows] == ["none", "fps epsilon=0.001", "fps epsilon=0.01"]
    (panel,) = panels([made(method__embedding=e) for e in ("probs", "features")])
    assert table(panel.runs).columns == ("norm embedding=features", "norm embedding=probs")


def test_lists_in_a_title_are_short():
    domains = [f"d{i}" for i in range(9)]
    found = panels([made(stream__domains=domains), made(stream__domains=["d1"])])
    assert {panel.title for panel in found} == {"domains d0 ... d8 (9)", "domains d1"}
