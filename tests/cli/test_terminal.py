"""What the command writes to: hostile names, poor encodings, closed streams, readers who leave."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

import gotta.cli
from gotta.cli.terminal import Console, guard_output

COMMAND = [sys.executable, "-m", "gotta.cli"]
HOSTILE = "a\x1b[31mb\x07c\x9bd\u202ee"
SPELLED = "a\\x1b[31mb\\x07c\\x9bd\\u202ee"


def run(*arguments, shell="{}", **environment):
    """The command through a shell, which may close or redirect its streams."""
    line = shell.format(" ".join([*COMMAND, *arguments]))
    return subprocess.run(
        ["bash", "-c", line], capture_output=True, text=True, env={**os.environ, "COLUMNS": "120", **environment}
    )


def test_control_characters_in_names_do_not_reach_a_terminal_through_rich():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=100, color_system="standard")
    table = Table(HOSTILE)
    table.add_row(Text(HOSTILE, style="red"))
    console.print(table)
    console.print(HOSTILE, markup=False, highlight=False)
    with console.status(HOSTILE):
        pass
    shown = file.getvalue()
    assert "\x1b[31m" in shown  # the style of the text, which is rich's own
    assert shown.count(SPELLED.replace("\\x07", "")) >= 3  # rich leaves out the bell by itself
    assert not re.search("[\x07\x9b\u202e]", shown)
    assert "a\x1b" not in shown


def test_nor_through_print(capsys):
    with guard_output():
        print(HOSTILE, end="\n\n")
        sys.stdout.writelines([HOSTILE])
        print(HOSTILE, file=sys.stderr)
    out, err = capsys.readouterr()
    assert out == f"{SPELLED}\n\n{SPELLED}"
    assert err == f"{SPELLED}\n"


def test_all_commands_use_the_safe_console():
    sources = sorted(Path(gotta.cli.__file__).parent.rglob("*.py"))
    assert len(sources) > 15
    direct = [path.name for path in sources if re.search(r"rich\.console import .*\bConsole\b", path.read_text())]
    assert direct == ["terminal.py"]


def test_streams_are_as_before_afterwards():
    before = sys.stdout, sys.stderr
    with pytest.raises(SystemExit), guard_output():
        sys.exit(3)
    assert (sys.stdout, sys.stderr) == before


def test_an_ascii_terminal_gets_ascii():
    file = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    before, sys.stdout = sys.stdout, file
    try:
        with guard_output():
            print("56.1 ± 0.3 ≈ † … 記")
    finally:
        sys.stdout = before
    assert file.buffer.getvalue() == b"56.1 +- 0.3 ~ (!) ... \\u8a18\n"


@pytest.mark.parametrize("arguments", [("ls", "methods"), ("--help",), ("export", "nowhere±")])
def test_an_ascii_output_does_not_end_in_a_traceback(arguments):
    done = run(*arguments, PYTHONIOENCODING="ascii")
    assert done.returncode == (2 if arguments[0] == "export" else 0), done.stderr
    assert "Traceback" not in done.stderr
    assert (done.stdout + done.stderr).isascii()


@pytest.mark.parametrize("arguments", [("--help",), ("bench", "--nothing"), ("--version",)])
@pytest.mark.parametrize("shell", ["{} >&-", "{} >&- 2>&- <&-", "{} | true", "{} >/dev/full", "{} >/dev/full 2>&1"])
def test_a_closed_or_full_output_does_not_end_in_a_traceback(shell, arguments):
    done = run(*arguments, shell=shell)
    for word in ("Traceback", "Exception", "Errno"):
        assert word not in done.stderr + done.stdout, done.stderr
    if arguments[0] == "--version" and shell == "{} >/dev/full":
        assert done.stderr == "gotta: cannot write the output: No space left on device.\n"
        assert done.returncode == 1


@pytest.mark.thorough
@pytest.mark.parametrize("shell", ["{} >&- 2>&- <&-", "{} | head -1", "{} >/dev/full"])
def test_nor_does_a_table_or_a_mistake(shell):
    for arguments in (("ls",), ("ls", "orderz")):
        done = run(*arguments, shell=shell)
        assert not re.search("Traceback|Exception|Errno", done.stderr + done.stdout), done.stderr


def test_a_sentence_stays_whole_in_a_pipe_and_is_wrapped_on_a_terminal():
    lines = {}
    for terminal in (False, True):
        file = io.StringIO()
        Console(file=file, force_terminal=terminal, width=80).print("word " * 40, highlight=False)
        lines[terminal] = len(file.getvalue().splitlines())
    assert lines == {False: 1, True: 3}
