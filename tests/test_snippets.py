"""What the README and the pages on recipes, sweeps, networks and the drop-in show runs, and its commands are parsed."""

import re
import shlex
from pathlib import Path

import pytest
import torch
import typer
from tiny import seeded_net

from gotta.cli.__main__ import app

ROOT = Path(__file__).parents[1]
PYTHON = ("README.md", "docs/recipes.md")
PAGES = ("README.md", "docs/recipes.md", "docs/sweeps.md", "docs/models.md", "docs/dropin.md")
SMALL = '"stream.per_class": 1, "stream.domains": ["snow"]'


def snippets(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def commands(page):
    """Every line of a code block that begins with gotta, without its comment."""
    lines = re.findall(r"^(?:    )?(gotta .*?)(?: {2,}#.*)?$", (ROOT / page).read_text(), re.MULTILINE)
    return [part for line in lines for part in line.split(" && ")]


def smaller(code):
    """The same calls on a few images."""
    code = code.replace('settings={"stream.gamma": 0.01}', f'settings={{"stream.gamma": 0.01, {SMALL}}}')
    return code.replace('memory=["fps", "fifo"])', f'memory=["fps", "fifo"], settings={{{SMALL}}})')


@pytest.mark.thorough
@pytest.mark.parametrize("page", PYTHON)
def test_python_of_a_page_runs_from_its_top_to_its_end(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = torch.rand(8, 3, 8, 8)
    logits = seeded_net()(x).detach()
    probs = logits.softmax(1)
    known = {"x": x, "net": seeded_net(), "label": probs.argmax(1), "probs": probs, "entropy": probs[:, 0]}
    parts = snippets(page)
    assert len(parts) >= 2
    for code in parts:
        exec(compile(smaller(code), page, "exec"), known)
    assert "runs per seed" in capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES)
def test_commands_of_a_page_are_parsed(page):
    found = commands(page)
    assert found
    for command in found:
        parse(shlex.split(command)[1:])


def parse(words):
    """Resolve groups and commands, and parse what is left, without running anything."""
    command = typer.main.get_command(app)
    context = command.make_context("gotta", list(words), resilient_parsing="--install-completion" in words)
    while hasattr(command, "resolve_command") and (rest := [*context._protected_args, *context.args]):
        name, command, left = command.resolve_command(context, rest)
        context = command.make_context(name, left, parent=context)
