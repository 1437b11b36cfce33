"""Whether the processor computes with bfloat16, asked with children that are made to die."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gotta.processor import LIMIT, LIMITS, Bfloat16, probe_bfloat16

TESTS = Path(__file__).parent
DEATH = signal.strsignal(signal.SIGILL)
DIES_UNLESS = f"""
import os, signal
with open({{log!r}}, "a") as log:
    print(os.environ.get({LIMIT!r}), file=log)
if os.environ.get({LIMIT!r}) not in {{allowed!r}}:
    os.kill(os.getpid(), signal.SIGILL)
"""
LOOKS = f"""
import os, sys
import pytest

torch_came_first = "torch" in sys.modules

@pytest.mark.parametrize("n", range(4))
def test_the_limit_is_set_before_torch_is_there(n):
    assert os.environ.get({LIMIT!r}) == {{limit!r}}
    assert not torch_came_first

@pytest.mark.bfloat16
@pytest.mark.parametrize("n", range(4))
def test_with_bfloat16(n):
    pass
"""


@pytest.fixture(autouse=True)
def no_limit(monkeypatch):
    monkeypatch.delenv(LIMIT, raising=False)


@pytest.fixture
def dying(tmp_path):
    """Code for a child that dies of SIGILL but under some limits, and the limits it was tried under."""
    log = tmp_path / "tried.txt"

    def code(*allowed):
        return DIES_UNLESS.format(log=str(log), allowed=allowed)

    return code, lambda: log.read_text().split()


def test_where_the_child_lives_nothing_is_limited(dying):
    code, tried = dying
    assert probe_bfloat16(code(None)) == Bfloat16()
    assert str(Bfloat16()) == "works"
    assert tried() == ["None"]


@pytest.mark.parametrize("allowed", [LIMITS[0], LIMITS[-1]])
def test_where_it_dies_the_first_limit_under_which_it_lives_is_found(dying, allowed):
    code, tried = dying
    found = probe_bfloat16(code(allowed))
    assert (found.works, found.limit) == (True, allowed)
    assert tried() == ["None", *LIMITS[: LIMITS.index(allowed) + 1]]
    assert f"works only with {LIMIT}={allowed} set before torch is imported" in str(found)
    assert f"dies of {DEATH}" in str(found)


def test_where_it_dies_under_every_limit_that_is_the_answer(dying):
    code, tried = dying
    found = probe_bfloat16(code())
    assert (found.works, found.limit) == (False, None)
    assert tried() == ["None", *LIMITS]
    assert f"cannot be computed with on this processor: a process that tries dies of {DEATH}" in str(found)


def test_a_limit_of_the_users_own_is_tried_first(dying, monkeypatch):
    monkeypatch.setenv(LIMIT, "SSE41")
    code, tried = dying
    assert probe_bfloat16(code("SSE41")) == Bfloat16()
    assert tried() == ["SSE41"]


def test_an_exception_in_the_child_is_told():
    assert "ends with code 1 (ValueError: no such type)" in str(probe_bfloat16("raise ValueError('no such type')"))


def test_a_child_that_hangs_is_given_up(monkeypatch):
    monkeypatch.setattr("gotta.processor.PATIENCE", 0.2)
    monkeypatch.setattr("gotta.processor.LIMITS", ())
    assert "more than 0.2 s" in str(probe_bfloat16("import time; time.sleep(60)"))


def test_what_the_child_really_computes_ends_with_an_answer():
    """Not always with the same: this processor may be one on which it dies."""
    found = probe_bfloat16()
    assert "Error" not in found.end
    assert found.works or "dies of" in found.end


def run_tests(folder, code, limit, *options):
    """The outcome of a small test run in a process of its own, under the conftest of these tests."""
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = bfloat16\n")
    (folder / "test_it.py").write_text(LOOKS.format(limit=limit))
    outside = ("GOTTA_TESTS", "PYTEST", LIMIT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outside)}
    command = [sys.executable, "-m", "pytest", "-rs", *options, str(folder)]
    return subprocess.run(
        command, cwd=folder, env={**environment, "GOTTA_TESTS_PROBE": code}, capture_output=True, text=True
    ).stdout


@pytest.mark.thorough
@pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_a_test_run_asks_once_and_runs_under_the_limit(dying, tmp_path, options):
    code, tried = dying
    shown = run_tests(tmp_path, code("AVX512_CORE_BF16"), "AVX512_CORE_BF16", *options)
    assert "8 passed" in shown, shown
    assert tried() == ["None", "AVX10_1_512", "AVX512_CORE_FP16", "AVX512_CORE_BF16"]


@pytest.mark.thorough
def test_a_test_run_where_nothing_dies_has_no_limit(dying, tmp_path):
    code, tried = dying
    assert "8 passed" in run_tests(tmp_path, code(None), None)
    assert tried() == ["None"]


@pytest.mark.thorough
def test_a_test_run_skips_by_name_where_no_limit_helps(dying, tmp_path):
    code, tried = dying
    shown = run_tests(tmp_path, code(), None, "-n", "2")
    assert "4 passed, 4 skipped" in shown, shown
    assert "bfloat16 cannot be computed with on this processor" in shown
    assert tried() == ["None", *LIMITS]
