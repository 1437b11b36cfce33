"""How much of gotta one step goes through, and how much a first call loads: what somebody follows who reads along."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tiny import seeded_net

import gotta

SOURCE = Path(gotta.__file__).parent


def files_of(call):
    """The files of gotta that a call goes through."""
    seen = set()

    def note(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.startswith(str(SOURCE)):
            seen.add(Path(frame.f_code.co_filename).relative_to(SOURCE).as_posix())

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


@pytest.mark.parametrize(
    ("most", "settings"),
    [
        (10, {"method": "source"}),
        (16, {"method": "deskew"}),
        (25, {"method": "tent", "memory": "fps", "capacity": 16}),
    ],
)
def test_a_warm_step_goes_through_few_files(most, settings):
    batches = torch.rand(40, 8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    net = seeded_net().train()
    for x in batches:
        net(x)  # so that its statistics are those of the stream, and no change of domain is tried
    model = gotta.adapt(net.eval(), num_classes=10, **settings)
    for x in batches[:-1]:
        model(x)
    files = files_of(lambda: model(batches[-1]))
    assert "core/adapted.py" in files
    assert len(files) <= most, sorted(files)


@pytest.mark.thorough
@pytest.mark.parametrize(("most", "call"), [(3, "gotta.__version__"), (80, "gotta.adapt"), (200, "gotta.plan('mini')")])
def test_a_first_call_loads_few_modules(most, call):
    code = f"import sys, gotta; {call}; print(sum(name.split('.')[0] == 'gotta' for name in list(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 1 < int(told.stdout) <= most
