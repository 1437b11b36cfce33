"""What does not fit together in the paper is found again by computing it from the numbers."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))

from pages.inconsistencies import COMPUTED, find_inconsistencies

from gotta.report.paper import numbers as paper


def test_known_inconsistencies_are_found_by_computing():
    known = [entry for entry in paper.inconsistencies() if entry.kind in COMPUTED]
    assert known == find_inconsistencies()
    assert {entry.kind for entry in known} == set(COMPUTED)
    assert all(entry.what for entry in paper.inconsistencies())


def test_inconsistencies_that_everybody_knows():
    found = {(entry.kind, entry.values) for entry in find_inconsistencies()}
    assert ("text_and_table", (76.8, 75.46, 75.46)) in found
    assert ("text_and_table", (73.6, 71.09)) in found
    assert ("bold_not_maximum", (67.8, 69.77)) in found
    assert ("tie_called_best", (38.65, 38.65)) in found
    rows = {
        entry.places[0].split()[1]: set(entry.values)
        for entry in find_inconsistencies()
        if entry.kind == "same_setting_differs"
    }
    assert rows == {
        "rotta": {50.14, 50.15},
        "eata": {24.71, 24.72},
        "tent": {14.8, 16.5},
        "pl": {13.21, 12.48},
        "shot": {16.75, 16.21},
        "energy": {12.37, 12.06},
    }
