"""The command as a user types it."""

import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from cli.shell import ENVIRONMENT, MINE, as_in_a_shell, gotta  # noqa: F401


def test_help_has_examples():
    assert "gotta bench --quick" in gotta("--help")
    for command in (["bench"], ["run"], ["report"], ["ls"], ["train"], ["stream", "show"], ["data", "make"]):
        assert "gotta " in gotta(*command, "--help")


@pytest.mark.parametrize(("typed", "offered"), [("gotta be", "bench"), ("gotta bench tab", "table-m64")])
def test_the_shell_completes_commands_and_recipes(typed, offered):
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_GOTTA_COMPLETE": "complete_bash"}
    command = [sys.executable, "-m", "gotta.cli"]
    shown = subprocess.run(command, env={**ENVIRONMENT, **words}, capture_output=True, text=True).stdout
    assert offered in shown.split()
    assert "--install-completion" in gotta("--help")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bench", "mni"], "Did you mean 'mini'"),
        (["bench", "--memory", "fsp"], "Did you mean 'fps'"),
        (["bench", "--seeds", "a"], "whole numbers"),
        (["bench", "--jobs", "-1"], "jobs"),
        (["bench", "--engine", "rai"], "Did you mean 'ray'"),
        (["bench", "--address", "auto"], "'address' is for engine ray, not for local"),
        (["bench", "--engine", "slurm", "--slurm", "partition"], "name=value"),
        (["bench", "--snapshot-every", "0"], "snapshot_every > 0"),
        (["run", "method.name=tnt"], "Did you mean 'tent'"),
        (["run", "nothing.yaml"], "neither a spec file"),
        (["run", "memory.name=fps", "memory.capacity=0", "stream.gamma=0"], "2 mistakes"),
        (["report", "nowhere"], "no finished runs"),
        (["ls", "memorys"], "Did you mean 'memories'"),
        (["stream", "show", "gama=1"], "Did you mean 'gamma'"),
        (["stream", "show", "--data", "x"], "unknown"),
        (["data", "make", "cifar10-d", "--source", "x", "--out", "y"], "cifar10-c"),
        (["data", "make", "cifar10-c", "--source", "nowhere", "--out", "y"], "no CIFAR-10 at"),
        (["data", "make", "cifar10-c", "--source", "x", "--out", "y", "--severity", "5"], "all five severities"),
        (["data", "make", "cifar100-c", "--source", "x", "--out", "y", "--size", "64"], "Leave --size out"),
        (["train", "resnet20", "--data", "nowhere", "--out", "x.safetensors"], "nowhere"),
    ],
)
def test_a_mistake_is_one_message_and_leaves_no_trace(tmp_path, arguments, words):
    message = gotta(*arguments, cwd=tmp_path, code=2)
    assert words in message
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [[sys.executable, "-m", "gotta.cli"], [Path(sys.executable).with_name("gotta")]])
def test_the_module_and_the_command_are_one(command):
    shown = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True).stdout
    assert re.match(r"gotta \d+\.\d+\.\d+", shown)


def test_a_mistake_ends_the_process_with_code_2_and_no_traceback(tmp_path):
    command = [sys.executable, "-m", "gotta.cli", "run", "method.name=tnt"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=ENVIRONMENT)
    assert done.returncode == 2
    assert done.stderr.startswith("gotta: method 'tnt' is unknown.")
    assert "Traceback" not in done.stderr


def test_help_does_not_wait_for_torch():
    code = "import sys; from gotta.cli.__main__ import app; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_python_m_gotta_is_the_command_and_imports_nothing_from_the_folder(tmp_path):
    (tmp_path / "yaml.py").write_text("raise SystemExit('imported')")
    command = [sys.executable, "-m", "gotta", "show", "fifo"]
    done = subprocess.run(command, cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, gotta("show", "fifo"))


def test_a_warning_is_a_sentence_without_a_line_of_code(monkeypatch):
    from gotta.cli import __main__ as cli

    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)  # is put back afterwards
    monkeypatch.setattr(cli, "app", lambda prog_name: None)
    cli.main()
    assert warnings.formatwarning(UserWarning("1 run failed"), UserWarning, __file__, 1) == "gotta: 1 run failed\n"
