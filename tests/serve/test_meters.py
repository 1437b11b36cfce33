import json
import re
import sys
from pathlib import Path

from serve import fake_meters

from gotta.serve.meters import METERS, MOST_CLASSES, Meters


def test_a_request_is_counted_by_call_and_status():
    meters = Meters(fake_meters)
    meters.note_request("predict", 200, 0.25)
    assert meters.by_name["gotta_requests"].noted == [(1.0, {"call": "predict", "status": "200"})]
    assert meters.by_name["gotta_latency_seconds"].noted == [(0.25, {"call": "predict"})]


def test_classes_beyond_the_most_share_one_line_and_nothing_is_not_counted():
    meters = Meters(fake_meters)
    meters.note_labels({0: 3, 1: 0, MOST_CLASSES: 2, MOST_CLASSES + 1: 4})
    assert meters.by_name["gotta_samples"].noted == [
        (3, {"label": "0"}),
        (2, {"label": "other"}),
        (4, {"label": "other"}),
    ]


def test_the_dashboard_shows_every_metric_and_no_other():
    dashboard = json.loads((Path(__file__).parents[2] / "examples" / "serving" / "grafana.json").read_text())
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"ray_(gotta_\w+)", target["expr"])
    }
    # As Ray exports them: counters end in _total, the parts of a histogram in _bucket.
    ends = {"Counter": "_total", "Histogram": "_bucket", "Gauge": ""}
    assert asked == {name + ends[kind] for name, (kind, *_) in METERS.items()}


def test_importing_gotta_does_not_import_the_service(tmp_path):
    import subprocess

    code = (
        "import sys, gotta, gotta.cli.__main__; print([name for name in sys.modules if name.startswith('gotta.serve')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_page_names_every_metric():
    page = (Path(__file__).parents[2] / "docs" / "service.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(gotta_\w+)` \|", page, re.M)) == set(METERS)
