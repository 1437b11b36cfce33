"""The readings of the main table."""

from made_runs import panel_of
from made_store import EVIL, many_runs

from gotta.report.tables.views import views


def test_views_shade_their_cells_on_one_scale():
    found = {view.key: view for view in views(panel_of(many_runs()))}
    assert list(found) == ["accuracy", "error", "none", "running_statistics", "seconds"]
    cells = found["accuracy"].tables[0].cells
    best = max(cells, key=lambda cell: cell.value)
    assert (best.number, best.mark, found["accuracy"].shade(best)) == ("70.0", "best", "s8")  # tent with fps
    gain = found["none"]
    shades = {row.names[0]: gain.shade(row.cells[0]) for row in gain.tables[0].rows}
    assert shades["fps"] == "d4"
    assert shades[EVIL].startswith("d-")
    assert cells[2].runs == ("norm-none-0", "norm-none-1")  # after the source model
