"""How many files of gotta one warm step goes through: the fewer, the easier it is to follow by hand."""

import sys
from pathlib import Path

import pytest
import torch
from tiny import seeded_net

import gotta

SOURCE = str(Path(gotta.__file__).parent)


def files_of(model):
    found = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            found.add(frame.f_code.co_filename)

    *before, x = torch.rand(7, 64, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    for batch in before:
        model(batch)
    sys.setprofile(note)
    try:
        model(x)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    ("method", "settings", "most"),
    [("source", {}, 10), ("deskew", {}, 16), ("tent", {"memory": "fps", "capacity": 64}, 24)],
)
def test_a_warm_step_goes_through_few_files(method, settings, most):
    found = files_of(gotta.adapt(seeded_net(), method, **settings))
    assert 5 < len(found) <= most, sorted(found)
