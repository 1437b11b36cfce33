"""The tables of a store as one text."""

import re

from made_runs import made, stored
from made_store import EVIL
from made_tables import run

from gotta.report.results import read_results
from gotta.report.write import report_markdown


def text_of(root, runs):
    return report_markdown(read_results(stored(root, runs)))


def test_the_report_has_every_part(tmp_path):
    text = text_of(tmp_path, [run(), run(seed=1, accuracy=52.0), run("none"), run("none", "source", 30.0)])
    headings = re.findall(r"^#+ .*$", text, re.MULTILINE)
    assert headings == [
        "# Report",
        "## runs",
        "### Accuracy (%)",
        "### Error (%)",
        "### Gain over no memory (points)",
        "### Beside the paper",
        "### Accuracy (%) per domain",
        "### Memory",
        "### Cost",
        "### Calibration",
        "## Environment",
    ]
    assert "4 finished runs." in text
    assert "Best memory: fps for norm (51.0 %" in text
    assert "- python: 3.11.7" in text
    assert "| fps | **51.0** (50.0 to 52.0) |" in text


def test_the_report_names_damaged_runs_and_set_ups(tmp_path):
    store = stored(tmp_path, [run(), run(stream__per_class=8), run(seed=1)])
    (tmp_path / "runs" / "norm-fps-1" / "summary.json").write_text('{"accuracy": 5')
    text = report_markdown(read_results(store))
    assert "## Set-up 1: runs (8 images of each class)" in text
    assert "## Set-up 2: runs (all images of each class)" in text
    assert "## Damaged runs" in text
    assert "`norm-fps-1`: summary.json is not valid JSON" in text
    assert "2 finished runs." in text


def test_names_stay_in_their_cell(tmp_path):
    text = text_of(tmp_path, [made(f"a|b\n{EVIL}"), made("none")])
    assert "| a\\|b &lt;script>document" in text
    assert "<script" not in text
