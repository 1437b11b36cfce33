"""What docs/pages/measured.py says of kept lines; test_pages.py compares the pages with the lines that are kept."""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))

from pages.measured import tell_activities, tell_errors, tell_speed, tell_statistics  # noqa: E402

from gotta.data.corruptions import corrupt  # noqa: E402


def test_the_better_of_three_is_bold_and_recordings_are_counted():
    parts = {"network": 0.5, "filter": 0.75, "average 0.7": 0.6}
    line = {"network": 0.8, "filter": 0.9, "best": ["average 0.7", 0.85], "of_transitions": parts}
    told = tell_activities([line | {"better": 14, "worse": 2, "streams": 21}])
    assert "| draw 1 | 80.0 | **90.0** | 85.0 | 14, 2, 5 |" in told
    assert "| transitions only, draw 1 | 50.0 | **75.0** | 60.0 |  |" in told


def test_errors_stand_beside_the_published_ones():
    lines = [{"corruption": name, "error": error} for name, error in (("clean", 8.0), ("snow", 31.26), ("fog", 20.0))]
    told = tell_errors(lines, {"snow": 30.9, "fog": 22.0})
    assert "(8.00 on clean images)" in told
    assert "| snow | 31.3 | 30.9 | +0.4 |" in told
    assert "| mean | 25.6 | 26.4 | -0.8 |" in told


def test_the_largest_distance_is_told_and_that_of_frost_apart():
    keys = {"severity": 1, "std": 0.5, "change": 2.0, "power": 3.0}
    lines = [{"corruption": name, "mean": mean, **keys} for name, mean in (("snow", 1.0), ("fog", 1.2), ("frost", 3.0))]
    told = tell_statistics(lines)
    assert "channel means within 1.2 grey levels" in told
    assert told.endswith("Frost: 3.0, 0.5, 2.0 %, 3.0 %.")


def test_speed_is_read_from_what_the_benchmark_prints():
    told = tell_speed((ROOT / "benchmarks/corruptions.txt").read_text(encoding="utf-8"))
    assert told.count("\n| ") == 20  # nineteen corruptions and their sum
    assert "ms for all 15." in told


def test_pixels_agree_as_often_as_the_page_says():
    with np.load(ROOT / "tests/golden/corruptions/cifar_c_exact.npz", allow_pickle=False) as file:
        published = dict(file)
    clean, equal = published.pop("clean"), {}
    for key, theirs in published.items():
        name, severity = key.split("/")
        ours = corrupt(clean, name, int(severity)).astype(int)
        assert np.abs(ours - theirs).max() <= 1
        equal[key] = 100 * (ours == theirs).mean()
    (least, second) = sorted(equal, key=equal.__getitem__)[:2]
    page = (ROOT / "docs/corruptions.md").read_text(encoding="utf-8")
    assert least == "saturate/3"
    told = f"every pixel within 1 grey level; {equal[least]:.0f} % (saturate,\n  severity 3) to 100 % equal, "
    assert f"{told}{np.floor(10 * equal[second]) / 10:.1f} % or more for the others." in page
