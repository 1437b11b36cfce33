import sys

from serve import fake_meters

from gotta.serve.meters import MOST_CLASSES, Meters


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


def test_importing_gotta_does_not_import_the_service(tmp_path):
    import subprocess

    code = (
        "import sys, gotta, gotta.cli.__main__; print([name for name in sys.modules if name.startswith('gotta.serve')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
