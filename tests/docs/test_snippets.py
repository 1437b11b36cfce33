"""Every snippet and command in the README and the pages is run here, or carries a mark with the reason why not."""

import shlex
from contextlib import suppress

import numpy as np
import pytest
import torch
import typer
import yaml
from made_store import many_runs
from page_blocks import Block, inline_commands, pages, read_blocks
from PIL import Image
from tiny import seeded_net
from typer.testing import CliRunner

import gotta
from gotta.cli.__main__ import app
from gotta.experiment.sweep.store import Store
from gotta.report.results import read_results
from gotta.report.tables.render import plain
from gotta.report.write import write_report

PAGES = pages()  # the tutorials are run as notebooks, in test_notebooks.py
RUN = [page for page in PAGES if not page.startswith("docs/tutorials/")]
BLOCKS = {page: read_blocks(page) for page in PAGES}
PLANNED = set()  # benchmarks that a page had before: their plan is the same everywhere
QUICKLY = {
    "bench": ["--dry-run", "--seeds=0"],
    "check": ["--examples=3"],
    "run": ["stream.per_class=1", "stream.domains=[snow]"],
    "data download": ["--dry-run"],
}


def with_python():
    return [page for page in RUN if any(b.language == "python" and not b.mark for b in BLOCKS[page])]


def known_names(page):
    """What pages take for granted: a network, a batch, and what was predicted for it."""
    x = torch.rand(8, 3, 32, 32, generator=torch.Generator().manual_seed(0))
    probs = seeded_net()(x).detach().softmax(1)
    images = np.random.default_rng(0).integers(0, 255, (4, 32, 32, 3), dtype=np.uint8)
    return {
        "x": x,
        "net": seeded_net(),
        "my_model": seeded_net(),
        "loader": [x, x],
        "probs": probs,
        "label": probs.argmax(1),
        "entropy": probs[:, 0],
        "images": images if page == "docs/corruptions.md" else x,
        "labels": [0, 1, 2, 3],
        "rows": [2, 3],
        "Store": Store,
        "read_results": read_results,
        "write_report": write_report,
        "plain": plain,
        "ids": [run.id for run in many_runs((0,))],
    }


@pytest.mark.thorough
@pytest.mark.parametrize("page", with_python())
def test_python_of_a_page_runs_from_its_top_to_its_end(page, workshop, quick):
    known = known_names(page)
    for block in BLOCKS[page]:
        if block.language == "python" and not block.mark:
            code = compile(block.text, f"{page}, line {block.line}", "exec")
            if block.file:
                (workshop / block.file).write_text(block.text)
            else:
                exec(code, known)


@pytest.mark.thorough
@pytest.mark.parametrize("page", [page for page in RUN if any(b.commands and not b.mark for b in BLOCKS[page])])
def test_commands_of_a_page_run(page, workshop, quick):
    for block in BLOCKS[page]:
        if block.file:
            (workshop / block.file).write_text(block.text)
    make_photos(workshop / "photos")
    for block in BLOCKS[page]:
        for command in block.commands if not block.mark else ():
            call, _, file = command.partition(" > ")
            words = shorten(shlex.split(call)[1:])
            if tuple(words) in PLANNED:
                continue
            PLANNED.update({tuple(words)} if words[0] == "bench" else ())
            result = CliRunner().invoke(app, words)
            if file:
                (workshop / file).write_text(result.stdout)
            lacks_data = "--dry-run" in words and result.exit_code == 1 and "missing" in result.output
            assert result.exit_code == 0 or lacks_data, (
                f"{page}, line {block.line}: {command}\n{result.output}\n{result.exception!r}"
            )


def shorten(words):
    """The same command on few images, or up to where it would compute or download."""
    more = QUICKLY.get(words[0], QUICKLY.get(" ".join(words[:2]), []))
    return [*words, *(word for word in more if word.partition("=")[0] not in words)]


def make_photos(folder):
    for name in ("cat", "dog"):
        (folder / name).mkdir(parents=True)
        for k in range(4):
            pixels = np.random.default_rng(k).integers(0, 255, (70, 70, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{k}.png")


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one_that_gotta_has(page):
    commands = [command for block in BLOCKS[page] for command in block.commands]
    for command in commands:
        parse(shlex.split(command.partition(" > ")[0])[1:])
    for command in inline_commands(page):
        words = shlex.split(command)[1:]
        if all(word.isalpha() and word.islower() for word in words):
            find_command(words)  # a sentence may name a command alone: `gotta train`
        else:
            parse(words)


def parse(words):
    """Parse a command with all it is given, without running anything."""
    command, name, left, parent = find_command(words)
    if not hasattr(command, "resolve_command"):  # else it is a group with options of its own: `gotta --version`
        with suppress(typer.Exit):  # of --help
            command.make_context(name, left, parent=parent)


def find_command(words):
    """The command that these words name, and those of them that are left for it."""
    command, name, left, parent = typer.main.get_command(app), "gotta", list(words), None
    while hasattr(command, "resolve_command") and left:
        parent = command.make_context(name, left, parent=parent, resilient_parsing=left[0].startswith("--"))
        rest = [*getattr(parent, "_protected_args", getattr(parent, "protected_args", [])), *parent.args]  # by version
        if not rest:
            break
        name, command, left = command.resolve_command(parent, rest)
    return command, name, left, parent


def test_yaml_of_the_pages_is_a_recipe_that_can_be_planned():
    found = [yaml.safe_load(block.text) for page in PAGES for block in BLOCKS[page] if block.language == "yaml"]
    recipes = [content for content in found if "cells" in content]
    assert recipes
    for recipe in recipes:
        assert gotta.plan(recipe, quick=True).specs


def test_what_is_not_run_says_why_and_what_is_no_code_says_so():
    blocks = [block for page in PAGES for block in BLOCKS[page]]
    assert len(blocks) > 60
    assert len([block for block in blocks if block.mark]) < len(blocks) / 2
    unmarked = [f"{b.page}, line {b.line}: {b.others}" for b in blocks if b.others and b.mark != "not run"]
    assert unmarked == []
    assert {block.language for block in blocks} <= {"", "sh", "indented", "python", "yaml", "text", "toml"}


def test_blocks_are_found_with_their_marks():
    page = "Words.\n\n<!-- not run: needs a GPU -->\n```sh\ngotta ls  # names\n```\n\n    gotta ls && gotta check fps\n"
    fenced, indented = read_blocks("a page", page)
    assert fenced == Block("a page", 4, "sh", "gotta ls  # names\n", "not run", "needs a GPU")
    assert (fenced.commands, fenced.others) == (["gotta ls"], [])
    assert (indented.mark, indented.commands) == ("", ["gotta ls", "gotta check fps"])
    assert Block("a page", 1, "python", "# mine.py\nx = 1\n").file == "mine.py"
    assert Block("a page", 1, "sh", "make test\n").others == ["make test"]
