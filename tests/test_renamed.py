import importlib
import subprocess
import sys

import pytest

from gotta.renamed import RENAMED


@pytest.mark.parametrize("old", RENAMED)
def test_a_documented_module_is_still_found_by_its_former_name(old):
    former, present = importlib.import_module(old), importlib.import_module(RENAMED[old])
    own = [name for name, value in vars(present).items() if getattr(value, "__module__", "") == present.__name__]
    assert own
    assert all(getattr(former, name) is getattr(present, name) for name in own)


def test_a_former_name_works_in_a_fresh_process():
    lines = ["from gotta.methods.losses import entropy", "from gotta.methods.parts import losses"]
    code = "\n".join([*lines, "assert losses.entropy is entropy"])
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("gotta.methods.nothing")
